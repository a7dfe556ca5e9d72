internal import CMicroHTTPD

/// What libmicrohttpd read of a request's head, and whether it read what everybody else would.
///
/// The library is lenient: it takes bare line feeds, folded lines, NUL bytes and spaces before a
/// colon, and says nothing. But it splits the head where it lies in its buffer, so the places of the
/// parts show what stood between them: one space in the request line, a carriage return and a line
/// feed after each line, one empty line at the end. A head that is laid out in any other way is
/// refused; should the library ever copy the parts, all heads would be, loudly.
@safe struct RequestHead {
    @safe struct Line {
        let name: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer
    }

    let method: UnsafeRawBufferPointer
    /// The target as it was sent; `url` has been decoded in place.
    let target: [UInt8]
    let url: UnsafeRawPointer
    let version: UnsafeRawBufferPointer
    /// Bytes from `method` to the end of the empty line.
    let byteCount: Int
    var lines: [Line] = []

    private static let lineEnd = 2

    var isStrict: Bool {
        guard unsafe url == end(of: method) + 1, unsafe version.baseAddress == url + target.count + 1 else {
            return false
        }
        var end = unsafe end(of: version)
        for line in lines {
            guard let name = unsafe line.name.baseAddress, let value = unsafe line.value.baseAddress else {
                return false
            }
            guard unsafe name == end + Self.lineEnd, unsafe value > self.end(of: line.name) else {
                return false
            }
            unsafe end = self.end(of: line.value)
        }
        return unsafe end + 2 * Self.lineEnd == method.baseAddress! + byteCount
    }

    private func end(of part: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        // Only parts with an address are asked.
        unsafe part.baseAddress! + part.count
    }
}
