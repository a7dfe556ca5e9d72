import Testing

@testable import Broker

/// The order of the answers on one connection, the requests that close it, and its isolation from others.
struct SessionTests {
    @Test func `answers come in the order of the requests, even if later ones are ready first`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.createTopic("t") == ErrorCode.none)
            // Three batches wait for the disk, a fetch waits for records that do not exist yet, and a request for
            // the versions waits for nothing. All are sent before the first answer.
            for number: Int32 in 10..<13 { client.produce(to: "t", value: "v\(number)", correlation: number) }
            client.fetch("t", from: 3, waitMilliseconds: 300, correlation: 13)
            client.askVersions(correlation: 14)
            client.produce(to: "t", value: "v15", correlation: 15)
            let order = try (10...15).map { _ in try client.receive().correlation }
            #expect(order == Array(10...15))
        }
    }

    /// A request begins with its length in four bytes. These lengths are negative, 2 GB, shorter than a header, and
    /// text.
    @Test(
        arguments: [
            [0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 2, 0, 0],
            Array("GET / HTTP/1.1\r\n\r\n".utf8),
        ] as [[UInt8]])
    func `bytes that are not a request close their connection and no other one`(bytes: [UInt8]) throws {
        try withBroker { broker in
            let healthy = try broker.client()
            let broken = try broker.client()
            broken.send(bytes)
            #expect(try broken.isClosedByPeer())
            healthy.askVersions(correlation: 1)
            #expect(try healthy.receive().correlation == 1)
        }
    }

    // librdkafka 2.16 sends such bytes with Metadata.
    @Test func `bytes behind the last field of a request are ignored`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.send(.metadata, version: 12, correlation: 1) { writer in
                writer.nullArray()
                for byte: Int8 in [0, 0, 0, 1, 0, 0] { writer.int8(byte) }
            }
            #expect(try client.receive().correlation == 1)
        }
    }

    @Test func `an unknown version of ApiVersions is answered with the known versions`() throws {
        try withBroker { broker in
            let client = try broker.client()
            let unknownVersion: Int16 = 99
            client.send(
                RawClient.request(
                    key: APIKey.apiVersions.rawValue, version: unknownVersion, correlation: 5
                ) {
                    $0.int32(0)
                })
            let answer = try client.receive()
            #expect(answer.correlation == 5)
            let (error, keys) = try WireReader.read(answer.body) { (reader) throws(WireError) in
                let error = try reader.int16()
                return (
                    error,
                    try reader.array { (reader) throws(WireError) in
                        let key = try reader.int16()
                        _ = try reader.int32()  // min_version and max_version
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
            let unknownKey: Int16 = 999
            client.send(RawClient.request(key: unknownKey, version: 0, correlation: 5) { $0.int32(0) })
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a request above the limit closes its connection`() throws {
        try withBroker(temporarySettings { $0.limits.requestBytesMax = 1_000 }) { broker in
            let client = try broker.client()
            let length1001: [UInt8] = [0, 0, 3, 0xe9]
            client.send(length1001)
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a request that comes byte by byte is understood`() throws {
        try withBroker { broker in
            let client = try broker.client()
            let request = RawClient.request(
                key: APIKey.apiVersions.rawValue, version: 0, correlation: 9, body: { _ in })
            for byte in request { client.send([byte]) }
            #expect(try client.receive().correlation == 9)
        }
    }

    @Test func `no answer is sent to a request that wants none, and the next request is answered`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.createTopic("t") == ErrorCode.none)
            client.produce(to: "t", value: "unanswered", acks: 0, correlation: 1)
            client.produce(to: "t", value: "answered", acks: 1, correlation: 2)
            let answer = try client.receive()
            #expect(answer.correlation == 2)
            #expect(try produceAnswer(in: answer.body).offset == 1)
        }
    }

    @Test func `a failed produce request that wants no answer closes the connection`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.produce(to: "nowhere", value: "lost", acks: 0, correlation: 1)
            #expect(try client.isClosedByPeer())
        }
    }

    @Test func `a waiting fetch ends with its client`() throws {
        try withBroker { broker in
            var client: RawClient? = try broker.client()
            _ = try client?.createTopic("t")
            client?.fetch("t", from: 0, waitMilliseconds: 60_000, correlation: 1)
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 1") }
            client = nil
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 0") }
        }
    }
}
