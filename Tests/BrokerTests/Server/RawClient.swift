import Glibc

@testable import Broker

/// A blocking connection to a broker that sends any bytes as a request, also bytes that no real client would send.
///
/// `send` does not wait for the answer; `receive` returns the next answer. Each answer repeats the correlation number
/// of its request. A wait ends after ten seconds with an error. The connection closes when the client is released.
final class RawClient {
    enum Failure: Error {
        case notConnected(Int32)
        case closed
        case timedOut
    }

    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        let loopback: in_addr_t = 0x7f00_0001  // 127.0.0.1
        address.sin_addr.s_addr = loopback.bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure.notConnected(errno) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Whether at least one byte of an answer has arrived.
    var hasAnswer: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Sends the bytes. If the broker has closed the connection, the rest is dropped.
    func send(_ bytes: [UInt8]) {
        var unsent = bytes[...]
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            unsent = unsent.dropFirst(sent)
        }
    }

    /// Sends a request with its length and header in front.
    func send(_ api: APIKey, version: Int16, correlation: Int32, body: (inout WireWriter) -> Void) {
        send(Self.request(key: api.rawValue, version: version, correlation: correlation, body: body))
    }

    /// Returns a request with its length and header in front.
    ///
    /// - Parameter key: The number of the API, which the broker may not know.
    static func request(
        key: Int16, version: Int16, correlation: Int32, body: (inout WireWriter) -> Void
    ) -> [UInt8] {
        var writer = WireWriter()
        // The length of the rest. It is known at the end.
        writer.int32(0)
        writer.int16(key)
        writer.int16(version)
        writer.int32(correlation)
        writer.nullableString("raw")  // client_id
        // An unknown API gets the old header, without tags.
        if let versions = APIKey(rawValue: key)?.versions {
            writer.encoding = versions.encoding(of: version)
            writer.emptyTags()
        }
        body(&writer)
        writer.patch(int32: Int32(writer.count - MemoryLayout<Int32>.size), at: 0)
        return writer.copied()
    }

    /// Returns the next answer: its correlation number, and the bytes behind it.
    func receive() throws -> (correlation: Int32, body: [UInt8]) {
        let length = try WireReader.read(try receive(count: MemoryLayout<Int32>.size)) {
            (reader) throws(WireError) in
            try reader.int32()
        }
        let answer = try receive(count: Int(length))
        let correlation = try WireReader.read(answer) { (reader) throws(WireError) in try reader.int32() }
        return (correlation, Array(answer.dropFirst(MemoryLayout<Int32>.size)))
    }

    /// Waits, and returns whether the broker closes the connection before it sends anything.
    func isClosedByPeer() throws -> Bool {
        do {
            _ = try receive(count: 1)
            return false
        } catch Failure.closed {
            return true
        }
    }

    private func receive(count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < count {
            let received = recv(descriptor, &buffer, min(buffer.count, count - bytes.count), 0)
            if received == 0 || (received < 0 && errno == ECONNRESET) { throw Failure.closed }
            if received < 0 { throw Failure.timedOut }
            bytes += buffer[..<received]
        }
        return bytes
    }
}
