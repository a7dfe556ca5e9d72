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

/// The sender stage on a real cluster and a simulated APNs, without faults of processes.
@Suite(.timeLimit(.minutes(5))) struct SenderStageTests {
    @Test func `each job is pushed once and has one receipt`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(stand, slots: "one")
        for lane in 0..<Int32(SenderStand.lanes) {
            let first = Int(lane) * 1_000
            try stand.write(stand.head(.start, version: 1), to: first..<first + 20, lane: lane)
            try stand.write(stand.head(.update, version: 2), to: first..<first + 200, lane: lane)
            try stand.write(stand.head(.end, version: 3), to: first..<first + 5, lane: lane, .jobsUrgent)
        }
        let jobs = SenderStand.lanes * 225
        try await eventually("every job has its receipt") {
            let outcomes = sender.outcomes(.accepted) + sender.outcomes(.superseded)
            return outcomes >= jobs || sender.failure != nil
        }
        #expect(sender.failure == nil)
        await sender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobs)
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
        for lane in 0..<Int32(SenderStand.lanes) {
            for sheet in 0..<10 {
                let first = Int(lane) * 10_000 + sheet * 250
                try stand.write(
                    stand.head(.update, version: 1, group: "m\(sheet)"), to: first..<first + 250, lane: lane)
            }
        }
        let jobs = SenderStand.lanes * 2_500
        let firstSender = try await RunningSender(stand, slots: "one") { $0.limits.permitsMax = 100 }
        try await eventually("some are pushed") { firstSender.outcomes(.accepted) > 300 }
        await firstSender.stop()
        let secondSender = try await RunningSender(stand, slots: "one") { $0.limits.permitsMax = 1_000 }
        try await eventually("the rest is pushed") {
            firstSender.outcomes(.accepted) + secondSender.outcomes(.accepted) >= jobs
        }
        await secondSender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobs)
        #expect(outcomes.values.allSatisfy { $0 == [.accepted] })
        #expect(stand.journal.requests == jobs)
        #expect(stand.journal.duplicateIDs == 0)
    }

    @Test func `a job older than its note in superseded is not pushed`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        try stand.write(SupersededVersions(app: "shop", group: "m1", updateVersion: 5, endVersion: 0))
        try stand.write(stand.head(.update, version: 4), to: 0..<100, lane: 0)
        try stand.write(stand.head(.update, version: 5), to: 0..<100, lane: 0)
        let sender = try await RunningSender(stand, slots: "one")
        try await eventually("all have receipts") {
            sender.outcomes(.accepted) == 100 && sender.outcomes(.superseded) == 100
        }
        await sender.stop()
        #expect(stand.journal.requests == 100)
    }

    @Test func `the first acceptance of a token is reported, and invented tokens do not pause the app`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(stand, slots: "one")
        try stand.write(
            stand.head(.update, group: "invented"), to: 100..<300, lane: 0, areKnown: false, areProven: false)
        try await eventually("the invented tokens are refused") { sender.outcomes(.moved) >= 200 }
        try stand.write(stand.head(.update), to: 0..<50, lane: 0, areProven: false)
        try await eventually("the others are pushed") { sender.outcomes(.accepted) == 50 }
        await sender.stop()
        let gauge = #"flotilla_sender_breaker_open{app="shop",environment="production"}"#
        #expect(sender.metric(gauge) == 0)
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
        let sender = try await RunningSender(stand, slots: "one")
        try stand.write(stand.head(.update), to: 0..<200, lane: 0, areKnown: false)
        let breakerMetric = #"flotilla_sender_breaker_open{app="shop",environment="production"}"#
        try await eventually("the breaker is open") { sender.metric(breakerMetric) == 1 }
        try await eventually("all wait in tiers") { sender.outcomes(.moved) >= 200 }
        await sender.stop()
        #expect(sender.metric("flotilla_sender_dead_tokens_total") == 0)
        #expect(try stand.finalOutcomes().isEmpty)
    }
}
