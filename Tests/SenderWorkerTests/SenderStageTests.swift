import Identifiers
import IngestTesting
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Sender
import Sends
import Testing
import Topics

@testable import APNsSimulator

/// Tests of the sender stage on a real cluster and a simulated APNs (`SenderStand`). No process dies. The receipts and
/// the journal of APNs must agree: each job is pushed once and has one final receipt.
@Suite(.timeLimit(.minutes(5))) struct SenderStageTests {
    @Test func `each job is pushed once and has one receipt`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(on: stand)
        for lane in 0..<Int32(SenderStand.laneCount) {
            let firstPhone = Int(lane) * 1_000
            try stand.write(
                stand.sheetHead(.start, version: 1), to: firstPhone..<firstPhone + 20, lane: lane)
            try stand.write(
                stand.sheetHead(.update, version: 2), to: firstPhone..<firstPhone + 200, lane: lane)
            // These may replace updates of the same phones, which then count as superseded.
            try stand.write(
                stand.sheetHead(.end, version: 3), to: firstPhone..<firstPhone + 5, lane: lane,
                in: .jobsUrgent)
        }
        let jobsPerLane = 20 + 200 + 5
        let jobCount = SenderStand.laneCount * jobsPerLane
        try await eventually("every job has its receipt") {
            let endedJobs = sender.jobCount(.accepted) + sender.jobCount(.superseded)
            return endedJobs >= jobCount || sender.failure != nil
        }
        #expect(sender.failure == nil)
        await sender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobCount)
        #expect(outcomes.values.allSatisfy { $0.count == 1 })
        let journal = stand.journal
        #expect(journal.duplicateIDs == 0)
        #expect(outcomes.values.filter { $0 == [.accepted] }.count == journal.requests)
    }

    @Test func `a sender that stops in order leaves nothing behind, and the next one repeats nothing`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        for lane in 0..<Int32(SenderStand.laneCount) {
            for sheet in 0..<10 {
                let firstPhone = Int(lane) * 10_000 + sheet * 250
                try stand.write(
                    stand.sheetHead(.update, version: 1, group: "m\(sheet)"),
                    to: firstPhone..<firstPhone + 250, lane: lane)
            }
        }
        let jobCount = SenderStand.laneCount * 10 * 250
        // Few permits make the first sender slow, so that it stops with jobs in hand.
        let firstSender = try await RunningSender(on: stand) { $0.limits.permitsMax = 100 }
        try await eventually("some jobs are pushed") { firstSender.jobCount(.accepted) > 300 }
        await firstSender.stop()
        let secondSender = try await RunningSender(on: stand) { $0.limits.permitsMax = 1_000 }
        try await eventually("all jobs are pushed") {
            firstSender.jobCount(.accepted) + secondSender.jobCount(.accepted) >= jobCount
        }
        await secondSender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobCount)
        #expect(outcomes.values.allSatisfy { $0 == [.accepted] })
        #expect(stand.journal.requests == jobCount)
        #expect(stand.journal.duplicateIDs == 0)
    }

    @Test func `a job older than its note in superseded is not pushed`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        try stand.write(SupersededVersions(app: "shop", group: "m1", updateVersion: 5, endVersion: 0))
        try stand.write(stand.sheetHead(.update, version: 4), to: 0..<100, lane: 0)
        try stand.write(stand.sheetHead(.update, version: 5), to: 0..<100, lane: 0)
        let sender = try await RunningSender(on: stand)
        try await eventually("all jobs have receipts") {
            sender.jobCount(.accepted) == 100 && sender.jobCount(.superseded) == 100
        }
        await sender.stop()
        #expect(stand.journal.requests == 100)
    }

    @Test func `the first acceptance of a token is reported, and invented tokens do not pause the app`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(on: stand)
        try stand.write(
            stand.sheetHead(.update, group: "invented"), to: 100..<300, lane: 0, areKnown: false,
            areProven: false)
        try await eventually("the invented tokens are refused") { sender.jobCount(.moved) >= 200 }
        try stand.write(stand.sheetHead(.update), to: 0..<50, lane: 0, areProven: false)
        try await eventually("the jobs of known tokens are pushed") { sender.jobCount(.accepted) == 50 }
        await sender.stop()
        #expect(!sender.isBreakerOpen(ofApp: "shop", in: .production))
        #expect(
            sender.log.contains("apns refuses most tokens that it never accepted before"), "\(sender.log)")
        #expect(sender.metric("flotilla_sender_proven_tokens_total") == 50)
        let proofs = try TopicContent(of: .reports, in: stand.bed).records.map {
            String(decoding: $0.value ?? [], as: UTF8.self)
        }.filter { $0.contains(#""kind":"provenToken""#) }
        #expect(proofs.count == 50)
        for phone in 0..<50 {
            #expect(proofs.count { $0.contains(#""entry":"update:a\#(phone)""#) } == 1, "phone \(phone)")
        }
    }

    @Test func `an app whose tokens are all refused is paused and loses no token`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(on: stand)
        try stand.write(stand.sheetHead(.update), to: 0..<200, lane: 0, areKnown: false)
        try await eventually("the breaker is open") {
            sender.isBreakerOpen(ofApp: "shop", in: .production)
        }
        try await eventually("all jobs wait in tiers") { sender.jobCount(.moved) >= 200 }
        await sender.stop()
        #expect(sender.deadTokenCount == 0)
        #expect(try stand.finalOutcomes().isEmpty)
    }
}
