import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import Topics

/// Tests of `TopicFollower`, by which kill tests read the records of a topic while processes die.
@Suite struct TopicFollowerTests {
    @Test func `a follower reads each record once and does not wait for an open transaction`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let writer = try RecordWriter(on: bed, to: .installations)
        let follower = try TopicFollower(of: .installations, in: bed)
        var count = 0
        for partition in 0..<Int32(2) {
            writer.write(key: Array("before".utf8), value: Array("x".utf8), partition: partition)
        }
        #expect(writer.finish())
        try await eventually("the first records are read") {
            follower.readAvailable { _ in count += 1 }
            return count == 2
        }
        let open = try OpenTransaction(on: bed, topic: .installations)
        for partition in 0..<Int32(2) {
            writer.write(key: Array("after".utf8), value: Array("x".utf8), partition: partition)
        }
        #expect(writer.finish())
        // The open transaction is in partition 0, so the record behind it stays hidden.
        try await eventually("the record of the other partition is read") {
            follower.readAvailable { _ in count += 1 }
            return count == 3
        }
        try open.abort()
        try await eventually("the hidden record is read") {
            follower.readAvailable { _ in count += 1 }
            return count == 4
        }
    }
}
