import Testing

@testable import HTTP2

/// Violations by a server (RFC 9113), and the client's reaction. A violation in one stream leaves the other streams
/// open, one of the connection ends it with GOAWAY. A test writes the server's frames. In a header block, 0x88 is
/// ":status: 200", 0x84 is ":path: /", `0x08, n` begins another status of n characters, and `0x0F, 0x27, 1, 0x61` is a
/// field with the value "a".
@Suite struct PeerRulesTests {
    // The flags of a frame.
    private static let acknowledgement: UInt8 = 1
    private static let endStream: UInt8 = 1
    private static let endHeaders: UInt8 = 4
    private static let padded: UInt8 = 8

    private static let settings = Frame(.settings, [])
    private static let status200: [UInt8] = [0x88]

    @Test(
        arguments: [
            ("no status", [Frame.headers([0x0F, 0x27, 1, 0x61])]),
            ("two statuses", [.headers([0x88, 0x88])]),
            ("a status of letters", [.headers([0x08, 3] + Array("2oo".utf8))]),
            ("a status of four digits", [.headers([0x08, 4] + Array("2000".utf8))]),
            ("101, which HTTP/2 forbids", [.headers([0x08, 3] + Array("101".utf8))]),
            ("a request's pseudo field", [.headers([0x88, 0x84])]),
            ("a pseudo field after others", [.headers([0x0F, 0x27, 1, 0x61, 0x88])]),
            ("a field of HTTP/1.1", [.headers([0x88] + literal("connection", "close"))]),
            ("another field of HTTP/1.1", [.headers([0x88] + literal("transfer-encoding", "chunked"))]),
            ("an informational answer with END_STREAM", [.headers([0x08, 3] + Array("103".utf8))]),
            ("an invalid length", [.headers([0x88] + literal("content-length", "1x"))]),
            (
                "two lengths",
                [.headers([0x88] + literal("content-length", "0") + literal("content-length", "0"))]
            ),
            ("a length that differs from the body", [.headers([0x88] + literal("content-length", "5"))]),
            ("a body before the answer", [.data([1])]),
            (
                "trailers without END_STREAM",
                [.headers([0x88], flags: endHeaders), .headers([], flags: endHeaders)]
            ),
            ("trailers with a status", [.headers([0x88], flags: endHeaders), .headers([0x88])]),
            ("a window update of 0", [Frame(.windowUpdate, [0, 0, 0, 0], stream: 1)]),
            ("a window above the limit", [Frame(.windowUpdate, [0x7F, 0xFF, 0xFF, 0xFF], stream: 1)]),
        ] as [(String, [Frame])])
    func `a malformed answer resets only its stream`(violation: String, frames: [Frame]) {
        let client = ClientSession()
        client.feed([Self.settings])
        client.push(body: [], tag: 1)
        client.push(body: [], tag: 2)
        _ = client.sent()
        client.feed(frames)
        #expect(client.takeOutcomes().map { "\($0.tag) \($0.endReason)" } == ["1 reset"], "\(violation)")
        #expect(client.sent().contains { $0.kind == .reset && $0.stream == 1 }, "\(violation)")
        client.feed([.headers(Self.status200, stream: 3)])
        #expect(client.takeOutcomes().map { "\($0.tag) \($0.endReason)" } == ["2 answered"], "\(violation)")
        #expect(client.events.failure == nil && !client.isFinished)
    }

    @Test(
        arguments: [
            ("a push", Frame(.pushPromise, [0, 0, 0, 2, 0x82], stream: 1), HTTP2ErrorCode.protocolError),
            ("an answer to no request", .headers([0x88], stream: 3), .protocolError),
            ("an answer on a server stream", .headers([0x88], stream: 2), .protocolError),
            ("a reset of an idle stream", Frame(.reset, [0, 0, 0, 0], stream: 5), .protocolError),
            ("a short reset", Frame(.reset, [0, 0, 0], stream: 1), .frameSizeError),
            ("a body on no stream", .data([1], stream: 0), .protocolError),
            (
                "padding longer than its frame", Frame(.data, [5, 1, 2], flags: padded, stream: 1),
                .protocolError
            ),
            ("an unknown index", .headers([0xBE]), .compressionError),
            (
                "a lone continuation", Frame(.continuation, [0x88], flags: endHeaders, stream: 1),
                .protocolError
            ),
            ("SETTINGS on a stream", Frame(.settings, [], stream: 1), .protocolError),
            ("SETTINGS of five bytes", Frame(.settings, [0, 1, 0, 0, 0]), .frameSizeError),
            ("SETTINGS that enable push", Frame(.settings, [0, 2, 0, 0, 0, 1]), .protocolError),
            ("a window too large", Frame(.settings, [0, 4, 0x80, 0, 0, 0]), .flowControlError),
            ("frames too small", Frame(.settings, [0, 5, 0, 0, 0, 1]), .protocolError),
            (
                "an acknowledgement with a payload",
                Frame(.settings, [0, 1, 0, 0, 0, 0], flags: acknowledgement),
                .frameSizeError
            ),
            ("33 settings", Frame(.settings, Array(repeating: 0, count: 33 * 6)), .enhanceYourCalm),
            ("a PING of seven bytes", Frame(.ping, Array(repeating: 0, count: 7)), .frameSizeError),
            ("a PING on a stream", Frame(.ping, Array(repeating: 0, count: 8), stream: 1), .protocolError),
            ("a short GOAWAY", Frame(.goaway, [0, 0, 0, 0]), .frameSizeError),
            ("a connection window update of 0", Frame(.windowUpdate, [0, 0, 0, 0]), .protocolError),
            ("excess connection window", Frame(.windowUpdate, [0x7F, 0xFF, 0xFF, 0xFF]), .flowControlError),
            (
                "a frame above the size limit", Frame(.data, Array(repeating: 0, count: 16_385), stream: 1),
                .frameSizeError
            ),
        ] as [(String, Frame, HTTP2ErrorCode)])
    func `a violation of the connection's rules causes GOAWAY`(
        violation: String, frame: Frame, code: HTTP2ErrorCode
    ) {
        let client = ClientSession()
        client.feed([Self.settings])
        client.push(body: [], tag: 1)
        _ = client.sent()
        client.feed([frame])
        #expect(client.events.failure == .violation(code), "\(violation)")
        #expect(!client.isFinished && client.availableRequests == 0)
        let last = client.sent().last
        #expect(
            last?.kind == .goaway && last?.payload.suffix(4) == [0, 0, 0, UInt8(code.rawValue)],
            "\(violation)")
        #expect(client.isFinished)
        client.end()
        #expect(client.takeOutcomes().map(\.endReason) == [.connectionLost])
    }

    @Test func `no other frame may interrupt a header block, and its continuations are limited`() {
        for (frames, code) in [
            ([Frame.headers([0x88], flags: 0), .data([1])], HTTP2ErrorCode.protocolError),
            (
                [.headers([0x88], flags: 0), Frame(.continuation, [], flags: Self.endHeaders, stream: 3)],
                .protocolError
            ),
            (
                [.headers([0x88], flags: 0)]
                    + Array(repeating: Frame(.continuation, [], stream: 1), count: 9), .enhanceYourCalm
            ),
        ] {
            let client = ClientSession()
            client.feed([Self.settings])
            client.push(body: [])
            _ = client.sent()
            client.feed(frames)
            #expect(client.events.failure == .violation(code))
        }
    }

    @Test func `a header block may have continuations, padding and priorities`() {
        let client = ClientSession(keeping: ["a"])
        client.feed([Self.settings])
        client.push(body: [], tag: 4)
        _ = client.sent()
        let field = Self.literal("a", "b")
        // Two bytes of padding, a priority of five bytes, the status, the begin of a field, and the padding.
        let first = [2, 0, 0, 0, 0, 7, 0x88] + field[..<2] + [0, 0]
        let endStreamPaddedAndPriority: UInt8 = 0x29
        client.feed([
            Frame(.headers, first, flags: endStreamPaddedAndPriority, stream: 1),
            Frame(.continuation, [field[2]], stream: 1),
            Frame(.continuation, Array(field[3...]), flags: Self.endHeaders, stream: 1),
        ])
        let batch = client.outcomes
        #expect(batch.outcomes.map(\.endReason) == [.answered] && batch.outcomes[0].status == 200)
        #expect(text(batch.fields(of: batch.outcomes[0])["a"]) == "b")
    }

    @Test func `a header block may begin with empty frames`() {
        let client = ClientSession()
        client.feed([Self.settings])
        client.push(body: [], tag: 4)
        _ = client.sent()
        client.feed([
            .headers([], flags: Self.endStream), Frame(.continuation, [], stream: 1),
            Frame(.continuation, Self.status200, flags: Self.endHeaders, stream: 1),
        ])
        #expect(client.takeOutcomes().map { "\($0.tag) \($0.endReason)" } == ["4 answered"])
        #expect(client.events.failure == nil)
    }

    @Test func `a peer that does not speak HTTP/2 has its own failure`() {
        for words in ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1 Debian\r\n"] {
            let client = ClientSession()
            client.feed(Array(words.utf8))
            #expect(client.events.failure == .notHTTP2)
        }
        let client = ClientSession()
        client.feed([Frame(.ping, Array(repeating: 0, count: 8))])
        #expect(client.events.failure == .notHTTP2)
    }

    @Test func `acknowledgements that are never pulled end the session`() {
        var limits = ClientLimits()
        limits.controlAcksMax = 10
        let client = ClientSession(limits: limits)
        client.feed([Self.settings])
        _ = client.sent()
        for _ in 0..<10 { client.feed([Frame(.ping, Array(repeating: 1, count: 8))]) }
        #expect(client.events.failure == nil)
        client.feed([Frame(.ping, Array(repeating: 1, count: 8))])
        #expect(client.events.failure == .flooded && client.isFinished)
    }

    @Test func `a request whose body has no window stays here and can be withdrawn`() {
        let client = ClientSession()
        client.feed([Self.settings])
        client.push(body: [UInt8](repeating: 1, count: 65_535), tag: 1)
        client.push(tag: 2)
        #expect(client.sent().contains { $0.kind == .headers && $0.stream == 1 })
        #expect(!client.wantsToSend)
        client.withdrawAll()
        #expect(
            client.takeOutcomes().map { "\($0.tag) \($0.endReason) \($0.mayHaveBeenSent)" } == [
                "2 cancelled false"
            ])
        #expect(client.sent().isEmpty, "the peer does not know the request")
        client.push(tag: 3)
        client.feed([Frame(.windowUpdate, [0, 1, 0, 0])])
        #expect(client.sent().map(\.stream) == [3, 3])
    }

    @Test func `a new initial window does not change the window of a request without a stream`() {
        func initialWindow(_ bytes: Int) -> Frame {
            Frame(.settings, [0, 4] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes >> $0) })
        }
        let client = ClientSession()
        client.feed([Self.settings, initialWindow(FlowWindow.bytesMax)])
        client.push(tag: 1)
        _ = client.sent()
        client.feed([Frame.headers([0x88])])
        #expect(client.takeOutcomes().map(\.tag) == [1])
        client.feed([initialWindow(1_000)])
        // The request takes the place of the first one, whose stream had the large window.
        client.push(tag: 2)
        client.feed([initialWindow(FlowWindow.bytesMax)])
        #expect(client.events.failure == nil && client.acceptsRequests, "no FLOW_CONTROL_ERROR")
        #expect(client.sent().filter { $0.kind == .data }.map(\.stream) == [3])
    }

    /// Returns a field as a literal without indexing, in a header block.
    private static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }
}

/// One frame, with its parts and its bytes.
struct Frame: Equatable {
    /// The type of a frame. RFC 9113 numbers them from 0, in this order.
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goaway, windowUpdate, continuation
    }

    var kind: Kind
    var payload: [UInt8]
    var flags: UInt8 = 0
    var stream: Int32 = 0

    init(_ kind: Kind, _ payload: [UInt8], flags: UInt8 = 0, stream: Int32 = 0) {
        (self.kind, self.payload, self.flags, self.stream) = (kind, payload, flags, stream)
    }

    /// Returns HEADERS, by default with END_HEADERS (4) and END_STREAM (1).
    static func headers(_ block: [UInt8], flags: UInt8 = 5, stream: Int32 = 1) -> Frame {
        Frame(.headers, block, flags: flags, stream: stream)
    }

    /// Returns DATA with END_STREAM (1).
    static func data(_ body: [UInt8], stream: Int32 = 1) -> Frame {
        Frame(.data, body, flags: 1, stream: stream)
    }

    var bytes: [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind.rawValue, flags]
            + withUnsafeBytes(of: stream.bigEndian) { Array($0) } + payload
    }
}

extension ClientSession {
    fileprivate func feed(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }
    fileprivate func feed(_ frames: [Frame]) { for frame in frames { feed(frame.bytes) } }

    /// Returns the frames that the session sends now, without the preface.
    fileprivate func sent() -> [Frame] {
        var bytes = withUnsafeTemporaryAllocation(byteCount: 200_000, alignment: 16) { buffer in
            Array(buffer[..<pull(into: buffer)])
        }[...]
        let prefaceBytes = 24
        if bytes.starts(with: Array("PRI".utf8)) { bytes = bytes.dropFirst(prefaceBytes) }
        let headBytes = 9
        var frames: [Frame] = []
        while bytes.count >= headBytes {
            let head = Array(bytes.prefix(headBytes)).map { Int($0) }
            let count = head[0] << 16 | head[1] << 8 | head[2]
            let stream = Int32(head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8])
            guard let kind = Frame.Kind(rawValue: UInt8(head[3])) else { break }
            frames.append(
                Frame(
                    kind, Array(bytes.dropFirst(headBytes).prefix(count)), flags: UInt8(head[4]),
                    stream: stream))
            bytes = bytes.dropFirst(headBytes + count)
        }
        return frames
    }
}
