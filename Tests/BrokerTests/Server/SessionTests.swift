import Foundation
import Testing

@testable import Broker

/// The promises to one connection, and its isolation from others.
struct SessionTests {
    @Test func `answers come in the order of the requests, even if later ones are ready first`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.create("t") == ErrorCode.none)
            // Three appends that wait for the disk, a read that waits for more than there is, and
            // something that waits for nothing: all sent before the first answer.
            for number: Int32 in 10..<13 { client.produce("t", "v\(number)", correlation: number) }
            client.fetch("t", from: 3, wait: 300, correlation: 13)
            client.askVersions(correlation: 14)
            client.produce("t", "v15", correlation: 15)
            var order: [Int32] = []
            for _ in 10...15 { order.append(try client.receive().correlation) }
            #expect(order == Array(10...15))
        }
    }

    @Test(
        arguments: [
            [0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 2, 0, 0],
            Array("GET / HTTP/1.1\r\n\r\n".utf8),
        ] as [[UInt8]])
    func `bytes that are no request close their connection and no other`(bytes: [UInt8]) throws {
        try withBroker { broker in
            let good = try broker.client()
            let bad = try broker.client()
            bad.send(bytes)
            #expect(try bad.isClosedByPeer())
            good.askVersions(correlation: 1)
            #expect(try good.receive().correlation == 1)
        }
    }

    /// librdkafka 2.16 sends three of them with Metadata.
    @Test func `bytes behind the last field of a request are ignored`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.send(.metadata, 12, correlation: 1) { w in
                w.nullArray()
                for byte: Int8 in [0, 0, 0, 1, 0, 0] { w.int8(byte) }
            }
            #expect(try client.receive().correlation == 1)
        }
    }

    @Test func `an unknown version of ApiVersions is answered with the table`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.send(RawClient.request(18, 99, correlation: 5) { $0.int32(0) })
            let answer = try client.receive()
            #expect(answer.correlation == 5)
            let (error, keys) = try WireReader.read(answer.body) { (r) throws(WireError) in
                let error = try r.int16()
                return (
                    error,
                    try r.array { (r) throws(WireError) in
                        let key = try r.int16()
                        _ = try r.int32()
                        return key
                    }
                )
            }
            #expect(error == ErrorCode.unsupportedVersion.rawValue)
            #expect(keys == APIKey.allCases.map(\.rawValue))
        }
    }

    @Test func `an unknown request closes its connection`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.send(RawClient.request(999, 0, correlation: 5) { $0.int32(0) })
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a request above the limit closes its connection`() throws {
        try withBroker(temporary { $0.limits.requestBytesMax = 1_000 }) { broker in
            let client = try broker.client()
            client.send([0, 0, 3, 0xe9])
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a request that comes byte by byte is understood`() throws {
        try withBroker { broker in
            let client = try broker.client()
            for byte in RawClient.request(18, 0, correlation: 9, { _ in }) { client.send([byte]) }
            #expect(try client.receive().correlation == 9)
        }
    }

    @Test func `an unwanted answer is not sent, and the next one is`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.create("t") == ErrorCode.none)
            client.produce("t", "unanswered", acks: 0, correlation: 1)
            client.produce("t", "answered", acks: 1, correlation: 2)
            let answer = try client.receive()
            #expect(answer.correlation == 2)
            #expect(try produced(answer.body).offset == 1)
        }
    }

    @Test func `an append without answers that fails closes the connection`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.produce("nowhere", "lost", acks: 0, correlation: 1)
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a client that goes away while its read is parked leaves nothing behind`() throws {
        try withBroker { broker in
            var client: RawClient? = try broker.client()
            _ = try client?.create("t")
            client?.fetch("t", from: 0, wait: 60_000, correlation: 1)
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 1") }
            client = nil
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 0") }
        }
    }
}

struct TimedOut: Error {}

/// Waits for a fact, ten seconds at most.
func waitUntil(_ fact: () throws -> Bool) throws {
    let limit = Date().addingTimeInterval(10)
    while try !fact() {
        guard Date() < limit else { throw TimedOut() }
        usleep(1_000)
    }
}
