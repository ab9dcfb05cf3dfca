// How far along the road a NEAR transaction is: the C++ interface of milepost, C++17 and later.
//
// Header-only, over milepost.h, whose grammar (docs/C-API.md) it keeps: a const member function may be called by any
// number of threads at a time, another by one. Every function that can refuse returns a Result; none throws, and all
// compiles without exceptions and without RTTI. What is owned is a handle that can be moved and not copied; what is
// lent (std::string_view, Span, Views) belongs to the handle it came from, until that is destroyed or, where the
// function is not const, until its next call. Leaves out what the C interface leaves out: clocks, threads, sockets.
#ifndef MILEPOST_HPP
#define MILEPOST_HPP

#include "milepost/answer.hpp"
#include "milepost/desk.hpp"
#include "milepost/engine.hpp"
#include "milepost/far.hpp"
#include "milepost/handle.hpp"
#include "milepost/message.hpp"
#include "milepost/result.hpp"
#include "milepost/storage.hpp"
#include "milepost/view.hpp"

#endif
