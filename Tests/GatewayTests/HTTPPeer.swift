import Foundation

/// A response, read completely.
struct HTTPAnswer: Sendable {
    let status: Int
    /// The status line and the header lines.
    let head: String
    let body: String

    /// Returns the value of the first header with this name, in any case.
    func header(_ name: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// The code in the body of an error.
    var code: String? { string(after: #"{"error":{"code":""#) }
    /// The field in the body of an error.
    var field: String? { string(after: #","field":""#) }

    private func string(after prefix: String) -> String? {
        guard let range = body.range(of: prefix) else { return nil }
        return String(body[range.upperBound...].prefix { $0 != "\"" })
    }
}

/// The connection could not be opened, or it closed before the answer was complete.
struct ConnectionLost: Error {}

/// One HTTP/1.1 connection to a server. Its calls block, so tests use it in `onThread`.
final class HTTPPeer {
    private let descriptor: Int32
    private var received: [UInt8] = []

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // An initializer that throws after all properties are set runs `deinit`, which closes the descriptor.
        guard connected == 0 else { throw ConnectionLost() }
    }

    deinit { close(descriptor) }

    /// Sends a request, and returns its answer.
    func exchange(_ method: String, _ path: String, headers: [String], body: [UInt8]) throws -> HTTPAnswer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n"
        for header in headers { head += header + "\r\n" }
        try send(Array((head + "\r\n").utf8) + body)
        return try answer()
    }

    /// Sends the head of a request and a part of its body.
    func begin(
        _ method: String, _ path: String, headers: [String], body part: some Sequence<UInt8>,
        bodyByteCount: Int
    ) throws {
        let lines = ["Host: test", "Content-Length: \(bodyByteCount)"] + headers
        try send(
            Array("\(method) \(path) HTTP/1.1\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n".utf8) + part)
    }

    /// Sends the rest of the body, and returns the answer.
    func end(body rest: some Sequence<UInt8>) throws -> HTTPAnswer {
        // The server may have answered and closed before.
        try? send(Array(rest))
        return try answer()
    }

    /// Sends the body as one chunk, so that the head does not tell its size.
    func exchangeChunk(
        _ method: String, _ path: String, headers: [String], body: [UInt8]
    ) throws -> HTTPAnswer {
        let lines = ["Host: test", "Transfer-Encoding: chunked"] + headers
        let head = "\(method) \(path) HTTP/1.1\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n"
        let size = String(body.count, radix: 16)
        try send(Array((head + size + "\r\n").utf8) + body + Array("\r\n0\r\n\r\n".utf8))
        return try answer()
    }

    /// Announces a body, asks for `100 Continue`, and never sends the body.
    func announce(_ path: String, headers: [String], bodyByteCount bodyBytes: Int) throws -> HTTPAnswer {
        let lines = ["Host: test", "Content-Length: \(bodyBytes)", "Expect: 100-continue"] + headers
        try send(Array(("POST \(path) HTTP/1.1\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        return try answer()
    }

    /// Sends the bytes unchanged and returns the statuses until the server closes.
    func statuses(to bytes: [UInt8]) throws -> [Int] {
        // The server may refuse and close before all bytes are sent.
        try? send(bytes)
        var statuses: [Int] = []
        while let answer = try? answer(), answer.head.hasPrefix("HTTP/1.1 ") {
            statuses.append(answer.status)
        }
        return statuses
    }

    private func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { throw ConnectionLost() }
            sent += count
        }
    }

    private func answer() throws -> HTTPAnswer {
        let headEnd = try receiveHead()
        let head = String(decoding: received[..<headEnd], as: UTF8.self)
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let headOnly = HTTPAnswer(status: status, head: head, body: "")
        let length = headOnly.header("content-length").flatMap { Int($0) } ?? 0
        let bodyStart = headEnd + Self.blankLine.count
        while received.count < bodyStart + length { try receive() }
        let body = String(decoding: received[bodyStart..<bodyStart + length], as: UTF8.self)
        received.removeFirst(bodyStart + length)
        return HTTPAnswer(status: status, head: head, body: body)
    }

    private static let blankLine = Array("\r\n\r\n".utf8)

    /// Receives until a head is complete, and returns the position of its end.
    private func receiveHead() throws -> Int {
        while true {
            if let end = received.indices.first(where: { received[$0...].starts(with: Self.blankLine) }) {
                return end
            }
            try receive()
        }
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { throw ConnectionLost() }
        received += buffer[..<count]
    }
}
