internal import CMicroHTTPD
internal import Glibc

/// The arguments of one call of libmicrohttpd's access handler, the callback for a request's head and for
/// each part of its body. They are valid only during that call.
@safe struct AccessHandlerCall {
    let connection: MHDConnection
    private let url: UnsafePointer<CChar>
    private let method: UnsafePointer<CChar>
    private let version: UnsafePointer<CChar>
    /// The part of the body. Nil in a call for a head or an end.
    private let part: UnsafePointer<CChar>?
    /// The length of the part. The handler sets it to the number of bytes that it did not consume.
    private let partBytes: UnsafeMutablePointer<Int>

    init(
        connection: MHDConnection, url: UnsafePointer<CChar>, method: UnsafePointer<CChar>,
        version: UnsafePointer<CChar>, part: UnsafePointer<CChar>?, partBytes: UnsafeMutablePointer<Int>
    ) {
        self.connection = connection
        unsafe self.url = unsafe url
        unsafe self.method = unsafe method
        unsafe self.version = unsafe version
        unsafe self.part = unsafe part
        unsafe self.partBytes = unsafe partBytes
    }

    /// The length of the part of the body.
    var bodyBytes: Int { unsafe partBytes.pointee }

    var body: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: part, count: bodyBytes) }

    func consumeBody() { unsafe partBytes.pointee = 0 }

    /// Returns the head of the request. Its lines point into the library's memory.
    func head(target: [UInt8]) -> RequestHead {
        var head = unsafe RequestHead(
            method: Self.text(at: method), target: target, url: UnsafeRawPointer(url),
            version: Self.text(at: version), byteCount: connection.headBytes)
        unsafe withUnsafeMutablePointer(to: &head) { head in
            unsafe mhd_header_lines(connection.handle, collectLine, head)
        }
        return head
    }

    private static func text(at text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
    }
}

/// The library's callback for each header line. `head` is the `RequestHead` to which the line is added.
private func collectLine(
    _ head: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameBytes: Int,
    _ value: UnsafePointer<CChar>?, _ valueBytes: Int
) -> MHD_Result {
    let line = unsafe RequestHead.Line(
        name: UnsafeRawBufferPointer(start: name, count: nameBytes),
        value: UnsafeRawBufferPointer(start: value, count: valueBytes))
    unsafe head?.assumingMemoryBound(to: RequestHead.self).pointee.lines.append(line)
    return mhd_yes
}
