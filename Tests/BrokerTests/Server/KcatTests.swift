import Foundation
import ProcessTesting
import Testing

@testable import Broker

/// kcat, with librdkafka from Debian, as an independent client. -P produces, -C consumes, -G consumes as a group, -Q
/// asks for the offset of a time, and -L lists the metadata.
struct KcatTests {
    /// Runs kcat until it exits, and returns its output.
    private func kcat(_ arguments: [String], input: String? = nil) async throws -> String {
        let process = try ChildProcess("kcat", arguments: arguments, input: input.map { Data($0.utf8) })
        let status = try await process.exitStatus()
        #expect(status == 0, "kcat \(arguments): \(process.errors)")
        return process.output
    }

    @Test(arguments: ["none", "gzip", "snappy", "lz4", "zstd"])
    func `kcat reads back its records in every codec`(codec: String) async throws {
        let broker = try TestBroker(BrokerSettings.temporary())
        defer { broker.running.stop() }
        #expect(try broker.client().createTopic("t") == ErrorCode.none)
        let lines = (0..<500).map { "key\($0):value \($0) " + String(repeating: "x", count: 100) }
        _ = try await kcat(
            [
                "-P", "-b", broker.address, "-t", "t", "-K:", "-z", codec, "-H", "name=value", "-X",
                "acks=all",
            ],
            input: lines.joined(separator: "\n") + "\n")
        // -e exits at the end of the partition.
        let read = try await kcat([
            "-C", "-b", broker.address, "-t", "t", "-e", "-q", "-K:", "-o", "beginning",
        ])
        #expect(read.split(separator: "\n").map(String.init) == lines)
        let headers = try await kcat(
            ["-C", "-b", broker.address, "-t", "t", "-e", "-q", "-c", "1", "-f", "%h %k\n"])
        #expect(headers == "name=value key0\n")
    }

    @Test func `kcat finds offsets for times and reads as a group`() async throws {
        let broker = try TestBroker(BrokerSettings.temporary())
        defer { broker.running.stop() }
        #expect(try broker.client().createTopic("t", partitions: 2) == ErrorCode.none)
        for partition in ["0", "1"] {
            _ = try await kcat(
                ["-P", "-b", broker.address, "-t", "t", "-p", partition],
                input: "a\(partition)\nb\(partition)\n")
        }
        // The offset of the time 1,000, before all records, and of the end (-1).
        let offsets = try await kcat(["-Q", "-b", broker.address, "-t", "t:0:1000", "-t", "t:1:-1"])
        #expect(offsets.split(separator: "\n").sorted() == ["t [0] offset 0", "t [1] offset 2"])
        let read = try await kcat(
            ["-b", broker.address, "-G", "readers", "-X", "auto.offset.reset=earliest", "-q", "-c", "4", "t"])
        #expect(read.split(separator: "\n").sorted() == ["a0", "a1", "b0", "b1"])
    }

    @Test func `kcat sees the node, the topics and their partitions`() async throws {
        let broker = try TestBroker(BrokerSettings.temporary())
        defer { broker.running.stop() }
        #expect(try broker.client().createTopic("t", partitions: 2) == ErrorCode.none)
        let listing = try await kcat(["-L", "-b", broker.address, "-t", "t"])
        #expect(listing.contains("broker 1 at \(broker.address) (controller)"))
        #expect(listing.contains("topic \"t\" with 2 partitions"))
    }
}
