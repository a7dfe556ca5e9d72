import CatalogRecords
import FanOut
import FanOutTesting
import Identifiers
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import Payloads
import ProcessTesting
import Sends
import Testing
import Topics

/// One partition of an output takes no records. Only the lanes that write to it wait.
@Suite struct UnavailablePartitionTests {
    private static let lanes = 4

    /// Returns a name that begins with the prefix and lies in the partition.
    private func name(_ prefix: String, in partition: Int, partitionOfName: (String) -> Int) throws
        -> String
    {
        try #require((0..<1000).lazy.map { "\(prefix)\($0)" }.first { partitionOfName($0) == partition })
    }

    private func group(_ number: Int, inSendsPartition partition: Int) throws -> String {
        try name("group-\(number)-", in: partition) { group in
            let key = makeSend(.update, group: group, id: "x").scopeKey?.bytes ?? []
            return Murmur2.partition(forKey: key.span, partitionCount: Self.lanes)
        }
    }

    private func user(inLane lane: Int) throws -> String {
        try name("user", in: lane) { user in
            let key = RegistryKey.partitionKey(app: TestBed.app.id, recipient: .user(user))
            return Murmur2.partition(forKey: key.span, partitionCount: Self.lanes)
        }
    }

    @Test func `a planner plans the sends that write to other partitions`() async throws {
        let unavailable = UnavailablePartitions()
        let cluster = try TestCluster(injecting: unavailable)
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        unavailable.refuse(bed.layout.name(of: .expansionsUrgent), partition: 2)
        let sender = try RecordWriter(on: bed, to: .sends)
        // Only the sends of partition 0 are for lane 2. All others are for lane 3.
        let sendsOfPartition = 10
        for partition in 0..<Self.lanes {
            for number in 0..<sendsOfPartition {
                let lane = partition == 0 ? 2 : 3
                sender.send(
                    makeSend(
                        .update, to: .users([try user(inLane: lane)]),
                        group: try group(number, inSendsPartition: partition),
                        id: "send-\(partition)-\(number)"))
            }
        }
        #expect(sender.finish())
        let others = sendsOfPartition * (Self.lanes - 1)
        try await eventually("the other sends are planned") {
            stage.handledCount >= others || stage.failure != nil
        }
        try await eventually("the stage names the partition") {
            stage.readinessProblems.contains { $0.contains(bed.layout.name(of: .expansionsUrgent) + "/2") }
        }
        #expect(stage.handledCount == others)
        unavailable.acceptAll()
        try await eventually("all sends are planned") {
            stage.handledCount == others + sendsOfPartition || stage.failure != nil
        }
        try await eventually("the stage is ready again") {
            stage.readinessProblems.isEmpty || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let fault = try PlannerModel(
            sends: TopicContent(of: .sends, in: bed), lanes: Self.lanes
        ).fault(in: bed)
        #expect(fault == nil, "\(fault ?? "")")
    }

    @Test func `an expander expands in the lanes that write to other partitions`() async throws {
        let unavailable = UnavailablePartitions()
        let cluster = try TestCluster(injecting: unavailable)
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let phones = 400
        for number in 0..<phones { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path)
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty }
        // Here the partition has no leader. In the test above it has too few replicas.
        unavailable.refuse(bed.layout.name(of: .jobs), partition: 1, hasLeader: false)
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .start, group: "match", send: "s", version: ExpanderTestBed.firstVersion,
                generation: ExpanderTestBed.firstVersion))
        #expect(expanderBed.finish())
        try await eventually("the other lanes are expanded") {
            expanderBed.missingClosings() == 1 || stage.failure != nil
        }
        try await eventually("the stage names the partition") {
            stage.readinessProblems.contains { $0.contains(bed.layout.name(of: .jobs) + "/1") }
        }
        unavailable.acceptAll()
        try await eventually("all lanes are expanded") {
            expanderBed.isEverythingClosed() || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        let jobs = try ExpanderTestBed.jobs(in: bed)
        #expect(jobs.count == phones && Set(jobs.map(\.token)).count == phones)
    }
}
