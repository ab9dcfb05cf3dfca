// What is lent: bytes as std::string_view, arrays as Span, arrays of C structures as Views.
//
// Nothing here owns or copies anything. Text is UTF-8; bytes that are no text travel as std::string_view too, so that
// std::string and std::map take them as they are.
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

// Sources that are compiled by different standards, or with and without exceptions, may be linked into one program:
// what they inline is not the same, and so does not have the same name.
#if defined(__cpp_lib_span) && defined(__cpp_exceptions)
#define MILEPOST_VARIANT span_throw
#elif defined(__cpp_lib_span)
#define MILEPOST_VARIANT span_plain
#elif defined(__cpp_exceptions)
#define MILEPOST_VARIANT own_throw
#else
#define MILEPOST_VARIANT own_plain
#endif

namespace milepost {
inline namespace MILEPOST_VARIANT {

#if defined(__cpp_lib_span)
/// An array of someone else's: std::span where there is one
template <class T>
using Span = std::span<T>;
#else
/// An array of someone else's: as much of std::span as is needed here
template <class T>
class Span {
public:
    constexpr Span() noexcept = default;

    /// So many items at this place
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    /// The items of an array, whose number is part of its type
    template <std::size_t N>
    constexpr Span(T (&items)[N]) noexcept : data_(items), size_(N) {}

    /// The items of a std::vector, a std::array, and whatever else has them in one piece
    ///
    /// Those of a temporary only where they are not to be changed, as in std::span: they live until the call is over.
    template <class Items,
              class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Items &>().data()), T *> &&
                                       (std::is_lvalue_reference_v<Items> || std::is_const_v<T>)&&!std::is_same_v<
                                           std::remove_cv_t<std::remove_reference_t<Items>>, Span>>>
    constexpr Span(Items &&items) noexcept : data_(items.data()), size_(items.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }

    /// An item; `index` is less than size(), as in std::span
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/// Bytes of the C interface, to be read
inline std::string_view view(milepost_bytes bytes) noexcept {
    // Without bytes there is nothing at the pointer, which may be NULL.
    return bytes.len == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char *>(bytes.data), bytes.len);
}

/// The pointer that the C interface takes for these bytes; their number goes with it
inline const std::uint8_t *data(std::string_view bytes) noexcept {
    return reinterpret_cast<const std::uint8_t *>(bytes.data());
}

/// An array of C structures, each seen as a `View` when it is looked at
template <class View, class Raw>
class Views {
public:
    /// Goes from one item to the next
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = View;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = View;

        Iterator() noexcept = default;
        explicit Iterator(const Raw *at) noexcept : at_(at) {}
        View operator*() const noexcept { return Views::see(*at_); }
        Iterator &operator++() noexcept { ++at_; return *this; }
        Iterator operator++(int) noexcept { Iterator before = *this; ++at_; return before; }
        friend bool operator==(Iterator one, Iterator other) noexcept { return one.at_ == other.at_; }
        friend bool operator!=(Iterator one, Iterator other) noexcept { return one.at_ != other.at_; }

    private:
        const Raw *at_ = nullptr;
    };

    Views() noexcept = default;

    /// So many items at this place
    Views(const Raw *data, std::size_t size) noexcept : data_(data), size_(size) {}

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Iterator begin() const noexcept { return Iterator(data_); }
    Iterator end() const noexcept { return Iterator(data_ + size_); }

    /// An item; `index` is less than size()
    View operator[](std::size_t index) const noexcept { return see(data_[index]); }

    /// The items as the C interface has them
    const Raw *raw() const noexcept { return data_; }

private:
    static View see(const Raw &raw) noexcept {
        if constexpr (std::is_same_v<Raw, milepost_bytes>) {
            return view(raw);
        } else {
            return View(raw);
        }
    }

    const Raw *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Many byte strings: keys that are asked for, lines of a log
using Texts = Views<std::string_view, milepost_bytes>;

/// A hash, 32 bytes: compares by them, so it can be the key of a std::map
struct Hash : milepost_hash {
    /// All zero, which is the hash of nothing
    Hash() noexcept : milepost_hash() {}

    /// The same bytes
    Hash(const milepost_hash &hash) noexcept : milepost_hash(hash) {}

    /// Its bytes, which live as long as it does
    std::string_view view() const & noexcept {
        return std::string_view(reinterpret_cast<const char *>(bytes), sizeof bytes);
    }

    friend bool operator==(const Hash &one, const Hash &other) noexcept { return one.view() == other.view(); }
    friend bool operator!=(const Hash &one, const Hash &other) noexcept { return one.view() != other.view(); }
    friend bool operator<(const Hash &one, const Hash &other) noexcept { return one.view() < other.view(); }
};

/// Many hashes: the ids of receipts
using Hashes = Views<Hash, milepost_hash>;

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
