// C++ interface of milepost, C++17 and later: answers NEAR's EXPERIMENTAL_tx_status and
// EXPERIMENTAL_protocol_config from blocks.
//
// Header-only, over milepost.h, whose conventions (docs/C-API.md) it keeps: any number of threads
// may call const member functions of an object, other member functions one thread at a time.
// Functions that can fail return a Result; none throws, and all compiles without exceptions and
// without RTTI. Owning types are handles that can be moved but not copied. Borrowed values
// (std::string_view, Span, Views) belong to the object they were read from, until it is destroyed
// or, if the function is not const, until its next call.
#ifndef MILEPOST_HPP
#define MILEPOST_HPP

#include "milepost/archive.hpp"
#include "milepost/endpoint.hpp"
#include "milepost/engine.hpp"
#include "milepost/handle.hpp"
#include "milepost/message_builder.hpp"
#include "milepost/proof.hpp"
#include "milepost/request.hpp"
#include "milepost/response.hpp"
#include "milepost/result.hpp"
#include "milepost/storage.hpp"
#include "milepost/transaction.hpp"
#include "milepost/view.hpp"

#endif
