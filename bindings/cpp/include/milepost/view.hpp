// Borrowed values: bytes as std::string_view, arrays as Span, arrays of C structures as Views.
//
// Nothing here owns or copies. Text is UTF-8; binary data is std::string_view too, so that
// std::string and std::map accept it.
#ifndef MILEPOST_VIEW_HPP
#define MILEPOST_VIEW_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#include "milepost.h"

// Sources of different standards, with and without exceptions, may be linked into one program:
// their inline functions differ, so an ABI tag in the namespace gives them different names.
#if defined(__cpp_lib_span) && defined(__cpp_exceptions)
#define MILEPOST_ABI_TAG span_throw
#elif defined(__cpp_lib_span)
#define MILEPOST_ABI_TAG span_plain
#elif defined(__cpp_exceptions)
#define MILEPOST_ABI_TAG own_throw
#else
#define MILEPOST_ABI_TAG own_plain
#endif

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

#if defined(__cpp_lib_span)
/// Borrowed array: std::span if available
template <class T>
using Span = std::span<T>;
#else
/// Borrowed array: the part of std::span that is needed here
template <class T>
class Span {
public:
    constexpr Span() noexcept = default;

    /// `size` items from `data`
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    /// The items of an array
    template <std::size_t N>
    constexpr Span(T (&items)[N]) noexcept : data_(items), size_(N) {}

    /// The items of a contiguous container, such as std::vector
    ///
    /// Of a temporary only if `T` is const, as in std::span: it lives until the call returns.
    template <class Items,
              class = std::enable_if_t<
                  std::is_convertible_v<decltype(std::declval<Items &>().data()), T *> &&
                  (std::is_lvalue_reference_v<Items> || std::is_const_v<T>) &&
                  !std::is_same_v<std::remove_cv_t<std::remove_reference_t<Items> >, Span> > >
    constexpr Span(Items &&items) noexcept : data_(items.data()), size_(items.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }

    /// An item; `index` must be less than size(), as in std::span
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/// An output structure of the C interface, for the library to fill
template <class Raw>
Raw sized() noexcept {
    Raw raw = Raw();
    raw.size = sizeof raw;
    return raw;
}

/// Converts bytes of the C interface
inline std::string_view view(milepost_bytes bytes) noexcept {
    // With length 0 the pointer may be NULL.
    return bytes.len == 0 ? std::string_view()
                          : std::string_view(reinterpret_cast<const char *>(bytes.data), bytes.len);
}

/// Converts the data pointer to that of the C interface; pass size() with it
inline const std::uint8_t *data(std::string_view bytes) noexcept {
    return reinterpret_cast<const std::uint8_t *>(bytes.data());
}

/// Borrowed array of C structures, each converted to a `View` on access
template <class View, class Raw>
class Views {
public:
    /// Input iterator
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = View;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = View;

        Iterator() noexcept = default;
        explicit Iterator(const Raw *at) noexcept : at_(at) {}
        View operator*() const noexcept { return Views::convert(*at_); }
        Iterator &operator++() noexcept {
            ++at_;
            return *this;
        }
        Iterator operator++(int) noexcept {
            Iterator previous = *this;
            ++at_;
            return previous;
        }
        friend bool operator==(Iterator left, Iterator right) noexcept {
            return left.at_ == right.at_;
        }
        friend bool operator!=(Iterator left, Iterator right) noexcept {
            return left.at_ != right.at_;
        }

    private:
        const Raw *at_ = nullptr;
    };

    Views() noexcept = default;

    /// `size` items from `data`
    Views(const Raw *data, std::size_t size) noexcept : data_(data), size_(size) {}

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Iterator begin() const noexcept { return Iterator(data_); }
    Iterator end() const noexcept { return Iterator(data_ + size_); }

    /// An item; `index` must be less than size()
    View operator[](std::size_t index) const noexcept { return convert(data_[index]); }

    /// The items as C structures
    const Raw *raw() const noexcept { return data_; }

private:
    static View convert(const Raw &raw) noexcept {
        if constexpr (std::is_same_v<Raw, milepost_bytes>) {
            return view(raw);
        } else {
            return View(raw);
        }
    }

    const Raw *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Byte strings: keys, or lines of a log
using ByteStrings = Views<std::string_view, milepost_bytes>;

/// A hash of 32 bytes, ordered by them, so it can be the key of a std::map
struct Hash : milepost_hash {
    /// All zero, which is not the hash of anything
    Hash() noexcept : milepost_hash() {}

    /// Converts from the C interface
    Hash(const milepost_hash &hash) noexcept : milepost_hash(hash) {}

    /// Its bytes; they live as long as this object
    std::string_view view() const & noexcept {
        return std::string_view(reinterpret_cast<const char *>(bytes), sizeof bytes);
    }

    friend bool operator==(const Hash &left, const Hash &right) noexcept {
        return left.view() == right.view();
    }
    friend bool operator!=(const Hash &left, const Hash &right) noexcept {
        return left.view() != right.view();
    }
    friend bool operator<(const Hash &left, const Hash &right) noexcept {
        return left.view() < right.view();
    }
};

/// Hashes, such as ids of receipts
using Hashes = Views<Hash, milepost_hash>;

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
