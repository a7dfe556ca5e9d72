import FanOut
import FanOutTesting
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

/// The planner and the expander survive an idle time in which retention deletes every record of their input topics.
@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `a planner that starts after an idle time plans the next send`(ending: StageEnding) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let sends = try RecordWriter(on: bed, to: .sends)
        let topics: [TopicName] = [.sends, .sendsTimed]
        let stage = try await PlannerStage(bed, directory: directory.path)
        for number in 0..<30 { sends.send(makeSend(.update, group: "g\(number)", id: "first\(number)")) }
        #expect(sends.finish())
        // Each send has its own transaction, as from the scheduler.
        try bed.sendInTransactions(
            (0..<6).map { makeSend(.update, group: "t\($0)", id: "timed\($0)") }, to: .sendsTimed)
        try await eventually("the first sends are planned") {
            stage.handledCount == 36 || stage.failure != nil
        }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(after: ending, group: "planner", reading: topics)
        }
        let restarted = try await PlannerStage(bed, directory: directory.path, after: stage)
        for number in 0..<30 { sends.send(makeSend(.update, group: "g\(number)", id: "second\(number)")) }
        #expect(sends.finish())
        try bed.sendInTransactions(
            (0..<6).map { makeSend(.update, group: "t\($0)", id: "later\($0)") }, to: .sendsTimed)
        try await eventually("the next sends are planned") {
            restarted.handledCount == 36 || restarted.failure != nil
        }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.readinessProblems == [] }
        // With random delays a stage may start over, because leaders are away. On a busy machine one transaction may
        // take too long.
        if TestCluster.weatherSeed == nil { #expect(restarted.startOverCount <= 1) }
        await restarted.stop()
    }

    @Test func `an idle planner commits the ends of its topics, so that its offsets survive retention`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let stage = try await PlannerStage(bed, directory: directory.path)
        try bed.sendInTransactions(
            (0..<20).map { makeSend(.update, group: "t\($0)", id: "timed\($0)") }, to: .sendsTimed)
        try await eventually("all sends are planned") { stage.handledCount == 20 || stage.failure != nil }
        try await eventually("the ends are committed") {
            try bed.areEndsCommitted(by: "planner", of: [.sendsTimed])
        }
        #expect(stage.failure == nil)
        if TestCluster.weatherSeed == nil { #expect(stage.startOverCount <= 1) }
        await stage.stop()
    }

    @Test(arguments: StageEnding.allCases)
    func `an expander that starts after an idle time expands the next send`(ending: StageEnding) async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<60 {
            expanderBed.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        expanderBed.write(update(1))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path)
        try await eventually("the first send is expanded") {
            expanderBed.isEverythingClosed() || stage.failure != nil
        }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(
                after: ending, group: "expander", reading: [.expansions, .expansionsUrgent])
        }
        let restarted = try await ExpanderStage(bed, directory: directory.path, after: stage)
        expanderBed.write(update(2))
        #expect(expanderBed.finish())
        try await eventually("the next send is expanded") {
            try ExpanderTestBed.jobs(in: bed).count == 120 || restarted.failure != nil
        }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.readinessProblems == [] }
        await restarted.stop()
    }

    @Test
    func `a partition with lost records waits alone, is named, and continues from an offset that is set`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let sends = try RecordWriter(on: bed, to: .sends)
        let stage = try await PlannerStage(bed, directory: directory.path)
        for number in 0..<20 { sends.send(makeSend(.update, group: "g\(number)", id: "first\(number)")) }
        #expect(sends.finish())
        try await eventually("the first sends are planned") {
            stage.handledCount == 20 || stage.failure != nil
        }
        await stage.stop()
        // No planner reads these sends. In one partition they are deleted.
        for number in 0..<20 { sends.send(makeSend(.update, group: "g\(number)", id: "lost\(number)")) }
        #expect(sends.finish())
        let partitionWithLostRecords = TopicPartition(bed.layout.name(of: .sends), 0)
        let partitionEnd = try bed.admin.watermarks(of: partitionWithLostRecords).high
        try bed.admin.deleteRecords(before: [partitionWithLostRecords: partitionEnd])
        let restarted = try await PlannerStage(bed, directory: directory.path, after: stage)
        try await eventually("the partition's gap is reported") {
            restarted.readinessProblems.contains {
                $0.contains("\(partitionWithLostRecords)") && $0.contains("flotilla replay offset")
            }
        }
        #expect(restarted.readinessProblems.count == 1)
        try await eventually("the sends of the other partition are planned") { restarted.handledCount > 0 }
        #expect(restarted.failure == nil)
        await restarted.stop()
        try await eventually("the operator has set the offset") {
            let low = try bed.admin.watermarks(of: partitionWithLostRecords).low
            do {
                try bed.admin.setOffsets(
                    of: bed.layout.prefix + "planner", to: [partitionWithLostRecords: low])
                return true
            } catch let error as KafkaError where error.code == .unknownMember {
                return false
            }
        }
        let thirdStage = try await PlannerStage(bed, directory: directory.path, after: restarted)
        for number in 0..<20 { sends.send(makeSend(.update, group: "g\(number)", id: "third\(number)")) }
        #expect(sends.finish())
        try await eventually("the sends of all partitions are planned") {
            thirdStage.handledCount == 20 || thirdStage.failure != nil
        }
        try await eventually("the stage is ready") { thirdStage.readinessProblems == [] }
        await thirdStage.stop()
    }

    private func update(_ number: Int64) -> Expansion {
        ExpanderTestBed.makeExpansion(
            of: .update, group: "match", send: "u\(number)", version: ExpanderTestBed.firstVersion + number)
    }
}

extension TestBed {
    /// Writes each send in a separate transaction.
    func sendInTransactions(_ sends: [Send], to name: TopicName) throws {
        let producer = try TransactionalProducer(
            settings: settings, transactionalID: layout.prefix + "writer", name: "writer", log: .silent,
            metrics: .init())
        try producer.initialize()
        let topic = try producer.topic(named: layout.name(of: name))
        for send in sends {
            guard let key = send.scopeKey?.bytes else { continue }
            try producer.begin()
            let partition = Int32(Murmur2.partition(forKey: key.span, partitionCount: layout.lanes))
            #expect(
                producer.send(to: topic, partition: partition, key: key.span, value: send.encoded().span)
                    == .queued)
            try producer.commit()
        }
    }
}
