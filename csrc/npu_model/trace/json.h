// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

namespace npu_model {

// Appends JSON text; keeps track of commas, nothing else.
class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(const std::string& key) {
    Separate();
    Quote(key);
    text_ += ':';
    fresh_ = true;
  }
  void Value(const std::string& value) {
    Separate();
    Quote(value);
  }
  void Value(const char* value) { Value(std::string(value)); }
  void Value(bool value) {
    Separate();
    text_ += value ? "true" : "false";
  }
  void Value(double value) {
    Separate();
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    text_ += text;
  }
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  void Value(T value) {
    Separate();
    text_ += std::to_string(value);
  }
  template <class T>
  void Field(const std::string& key, const T& value) {
    Key(key);
    Value(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  void Separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  void Open(char bracket) {
    Separate();
    text_ += bracket;
    fresh_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    fresh_ = false;
  }
  void Quote(const std::string& value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
        text_ += escaped;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace npu_model
