import Foundation

/// An answer as received.
struct RawAnswer {
    let status: Int
    /// The status line and the headers.
    let head: String
    let body: String

    func header(_ name: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }
}

/// A client that sends exactly the given bytes, valid or not. Its calls block, so tests use it in `onThread`.
final class RawPeer {
    private let descriptor: Int32
    private var received: [UInt8] = []
    private(set) var isClosed = false

    /// - Parameter source: Another address of the loopback network, for limits per peer.
    init(port: Int, source: String = "127.0.0.1") throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var clientAddress = Self.address(source, port: 0)
        var serverAddress = Self.address("127.0.0.1", port: port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &clientAddress) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        let connected = withUnsafePointer(to: &serverAddress) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        // An initializer that throws after all properties are set runs `deinit`, which closes the descriptor.
        guard bound == 0, connected == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    private static func address(_ host: String, port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return address
    }

    /// Sends bytes. Returns false if the connection is closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Ends the connection in this direction. Answers may still arrive.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the server closes, until there are at least `count` answers, or until the given time is
    /// over. Returns all answers that have arrived on the connection.
    func answers(atLeast count: Int = .max, within milliseconds: Int = 60_000) -> [RawAnswer] {
        let deadline = DispatchTime.now() + .milliseconds(milliseconds)
        while !isClosed, completeAnswers().count < count, DispatchTime.now() < deadline {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Foundation.poll(&poll, 1, 20) > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let byteCount = recv(descriptor, &buffer, buffer.count, 0)
            if byteCount <= 0 { isClosed = true } else { received += buffer[..<byteCount] }
        }
        return completeAnswers()
    }

    /// Returns the answers that have arrived completely.
    private func completeAnswers() -> [RawAnswer] {
        var answers: [RawAnswer] = []
        var unread = received[...]
        while let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
            let head = String(decoding: unread[..<end.lowerBound], as: UTF8.self)
            let status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
            let headOnly = RawAnswer(status: status, head: head, body: "")
            let length = Int(headOnly.header("content-length") ?? "0") ?? 0
            guard unread.endIndex - end.upperBound >= length else { break }
            let body = unread[end.upperBound..<(end.upperBound + length)]
            // 100 Continue precedes the answer.
            if status != 100 {
                answers.append(
                    RawAnswer(status: status, head: head, body: String(decoding: body, as: UTF8.self)))
            }
            unread = unread[(end.upperBound + length)...]
        }
        return answers
    }
}

/// Runs a blocking call on its own thread. Tasks have few threads, and the server's handlers may need them.
func onThread<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
