internal import CMicroHTTPD

/// A request's head as libmicrohttpd parsed it, with a check that every other parser reads it in the same
/// way.
///
/// The library is lenient: it silently accepts bare line feeds, folded lines, NUL bytes and spaces before a
/// colon. But it parses the head in place, so the addresses of the parts show the bytes between them. A
/// strict head has one space between the parts of the request line, CR LF after each line, and one empty line
/// at the end. Every other layout is refused. If the library ever copied the parts, every head would be
/// refused, which would be noticed at once.
@safe struct RequestHead {
    @safe struct Line {
        let name: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer
    }

    let method: UnsafeRawBufferPointer
    /// The target as sent. The library decodes `url` in place.
    let target: [UInt8]
    let url: UnsafeRawPointer
    let version: UnsafeRawBufferPointer
    /// The bytes from `method` to the end of the empty line.
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
        // The callers pass only parts with an address.
        unsafe part.baseAddress! + part.count
    }
}
