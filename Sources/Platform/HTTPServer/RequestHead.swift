internal import CMicroHTTPD

/// The head of a request as libmicrohttpd parsed it, with a check that every other parser reads it in the
/// same way (`isStrict`).
///
/// The library is lenient: it silently accepts bare line feeds, folded lines, NUL bytes and spaces before a
/// colon. But it parses the head in place, so the distances between the parts in memory show how many bytes
/// were between them. A strict head has one space between the parts of the request line, CR LF after each
/// line, and one empty line at the end. Every other layout is refused. If the library ever copied the parts,
/// every head would be refused, and tests would fail at once.
@safe struct RequestHead {
    @safe struct Line {
        let name: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer
    }

    let method: UnsafeRawBufferPointer
    /// The target as sent, saved before the library decodes it in place.
    let target: [UInt8]
    /// The address of the target in the head.
    let url: UnsafeRawPointer
    let version: UnsafeRawBufferPointer
    /// The bytes from `method` to the end of the empty line.
    let byteCount: Int
    var lines: [Line] = []

    /// The length of CR LF.
    private static let lineEndBytes = 2

    /// Whether the head has the layout of a strict head.
    var isStrict: Bool {
        guard unsafe url == end(of: method) + 1, unsafe version.baseAddress == url + target.count + 1 else {
            return false
        }
        var lineEnd = unsafe end(of: version)
        for line in lines {
            guard let name = unsafe line.name.baseAddress, let value = unsafe line.value.baseAddress else {
                return false
            }
            guard unsafe name == lineEnd + Self.lineEndBytes, unsafe value > end(of: line.name) else {
                return false
            }
            unsafe lineEnd = end(of: line.value)
        }
        return unsafe lineEnd + 2 * Self.lineEndBytes == method.baseAddress! + byteCount
    }

    private func end(of part: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        // The callers pass only parts with an address.
        unsafe part.baseAddress! + part.count
    }
}
