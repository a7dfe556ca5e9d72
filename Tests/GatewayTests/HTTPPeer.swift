import Foundation

struct HTTPAnswer: Sendable {
    let status: Int
    let head: String
    let body: String

    func header(_ name: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// The code of an error.
    var code: String? { string(after: #"{"error":{"code":""#) }
    /// The field of an error.
    var field: String? { string(after: #","field":""#) }

    private func string(after prefix: String) -> String? {
        guard let range = body.range(of: prefix) else { return nil }
        return String(body[range.upperBound...].prefix { $0 != "\"" })
    }
}

struct ConnectionLost: Error {}

/// One connection to a server. Its calls block: use it in `onThread`.
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

    func exchange(_ method: String, _ path: String, _ headers: [String], _ body: [UInt8]) throws -> HTTPAnswer
    {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n"
        for header in headers { head += header + "\r\n" }
        try send(Array((head + "\r\n").utf8) + body)
        return try answer()
    }

    /// Sends the body as one chunk, so that the head does not tell its size.
    func exchangeChunk(
        _ method: String, _ path: String, _ headers: [String], _ body: [UInt8]
    ) throws -> HTTPAnswer {
        let lines = ["Host: test", "Transfer-Encoding: chunked"] + headers
        let head = "\(method) \(path) HTTP/1.1\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n"
        let size = String(body.count, radix: 16)
        try send(Array((head + size + "\r\n").utf8) + body + Array("\r\n0\r\n\r\n".utf8))
        return try answer()
    }

    /// Announces a body, asks for `100 Continue`, and never sends the body.
    func announce(_ path: String, _ headers: [String], bodyBytes: Int) throws -> HTTPAnswer {
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
        let end = Array("\r\n\r\n".utf8)
        var split: Int?
        while true {
            split = received.indices.first { received[$0...].starts(with: end) }
            if split != nil { break }
            try receive()
        }
        let head = String(decoding: received[..<split!], as: UTF8.self)
        let length =
            head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        let start = split! + 4
        while received.count < start + length { try receive() }
        let body = String(decoding: received[start..<start + length], as: UTF8.self)
        received.removeFirst(start + length)
        return HTTPAnswer(
            status: head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, head: head,
            body: body)
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { throw ConnectionLost() }
        received += buffer[..<count]
    }
}
