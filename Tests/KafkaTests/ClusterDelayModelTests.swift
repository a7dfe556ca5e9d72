import Broker
import KafkaTesting
import Lifecycle
import Testing

/// Tests of the seeded weather alone, without a broker.
struct ClusterDelayModelTests {
    private let start = Instant(nanoseconds: 0)

    private func after(_ milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    /// Returns the answers to a client that asks every five milliseconds.
    private func life(_ seed: UInt64) -> [String] {
        var weather = ClusterDelayModel(seed: seed, at: start)
        weather.recordCreation(ofTopic: "t", at: start)
        return stride(from: 0, to: 20_000, by: 5).map { time in
            let now = after(time)
            return [
                "\(weather.visibility(of: "t", at: now))",
                "\(String(describing: weather.refusal(byLeaderOf: "t", partition: 0, at: now)))",
                "\(String(describing: weather.refusal(by: .group("g"), at: now)))",
                "\(String(describing: weather.refusal(by: .findTransaction, at: now)))",
                "\(weather.responseDelayMilliseconds() ?? 0)",
            ].joined(separator: " ")
        }
    }

    @Test func `the same seed gives the same weather, and another seed another weather`() {
        #expect(life(7) == life(7))
        #expect(life(7) != life(8))
    }

    @Test func `a new topic becomes known, gets a leader, is served, and stays served`() {
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            weather.recordCreation(ofTopic: "t", at: start)
            var furthest = 0
            var served = Int.max
            for time in 0..<2000 {
                let now = after(time)
                let sight = weather.visibility(of: "t", at: now)
                let place = sight == .unknown ? 0 : sight == .leaderless ? 1 : 2
                #expect(place >= furthest, "seed \(seed)")
                furthest = place
                let refusal = weather.refusal(byLeaderOf: "t", partition: 0, at: now)
                if sight == .unknown { #expect(refusal == .unknownTopicOrPartition, "seed \(seed)") }
                if sight == .leaderless { #expect(refusal == .notLeaderOrFollower, "seed \(seed)") }
                if refusal == nil { served = min(served, time) }
            }
            let latest =
                ClusterDelayModel.Durations.topicUnknownMillisecondsMax
                + ClusterDelayModel.Durations.topicLeaderlessMillisecondsMax
                + ClusterDelayModel.Durations.topicNotServedMillisecondsMax
            #expect(served <= latest + 10, "seed \(seed)")
            #expect(weather.visibility(of: "another", at: start) == .whole)
        }
    }

    @Test(arguments: [CoordinatorCall.group("g"), .transaction(id: "i"), .findGroup, .findTransaction])
    func `coordinators always return and are available most of the time`(call: CoordinatorCall) {
        for seed in UInt64(0)..<100 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            var absent = 0
            var longest = 0
            var run = 0
            for time in stride(from: 0, to: 100_000, by: 10) {
                run = weather.refusal(by: call, at: after(time)) == nil ? 0 : run + 10
                longest = max(longest, run)
                absent += run == 0 ? 0 : 10
            }
            #expect(
                longest <= ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + 10,
                "seed \(seed)")
            #expect(absent < 12_000, "seed \(seed)")
        }
    }

    @Test func `a transaction that ends delays only the next one of its id, for a moment`() {
        var held = 0
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            // The time is after the start and in calm weather.
            let end = after(ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + 1)
            guard weather.refusal(by: .end(id: "a"), at: end) == nil else { continue }
            #expect(weather.refusal(by: .transaction(id: "b"), at: end) == nil, "seed \(seed)")
            if weather.refusal(by: .transaction(id: "a"), at: end) == .concurrentTransactions { held += 1 }
            let later = end.advanced(
                byMilliseconds: ClusterDelayModel.Durations.transactionEndMillisecondsMax)
            #expect(weather.refusal(by: .transaction(id: "a"), at: later) == nil, "seed \(seed)")
        }
        #expect(held > 100)
    }

    @Test func `a node is away for seconds, alone, and comes back`() {
        for seed in UInt64(0)..<50 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            let partitions = Int32(0)..<30
            var longest = 0
            var wereAway = 0
            var run = 0
            for time in stride(from: 0, to: 100_000, by: 50) {
                let away = partitions.count { partition in
                    weather.refusal(byLeaderOf: "t", partition: partition, at: after(time))
                        == .notLeaderOrFollower
                }
                // A few leaders stray at any time.
                run = away > 4 ? run + 50 : 0
                longest = max(longest, run)
                wereAway += run > 0 ? 1 : 0
            }
            #expect(wereAway > 0 && wereAway < 1_200, "seed \(seed)")
            #expect(
                longest <= 3 * ClusterDelayModel.Durations.nodeAbsenceMilliseconds.upperBound, "seed \(seed)")
        }
    }

    @Test func `one partition at a time has too few replicas, and only for writes`() {
        for seed in UInt64(0)..<50 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            var times = 0
            for time in stride(from: 0, to: 100_000, by: 50) {
                let now = (0..<Int32(6)).filter {
                    weather.refusal(ofAppendTo: "t", partition: $0, at: after(time)) == .notEnoughReplicas
                }
                #expect(now.count <= 1, "seed \(seed)")
                times += now.count
            }
            #expect(times > 0 && times < 1_000, "seed \(seed)")
        }
    }

    @Test func `a static member whose coordinator dies is fenced by its own join, once`() {
        var fenced = 0
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            var time = ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + 1
            let join = CoordinatorCall.join(group: "g", instanceID: "a")
            guard weather.refusal(by: join, at: after(time)) == .notCoordinator else { continue }
            #expect(
                weather.refusal(by: .join(group: "g", instanceID: nil), at: after(time)) != .fencedInstanceID)
            while let error = weather.refusal(by: .group("g"), at: after(time)), error != .none { time += 10 }
            if weather.refusal(by: join, at: after(time)) == .fencedInstanceID {
                fenced += 1
                #expect(weather.refusal(by: join, at: after(time)) != .fencedInstanceID, "seed \(seed)")
            }
        }
        #expect(fenced > 5)
    }

    @Test func `few leaders stray and few answers are slow`() {
        var weather = ClusterDelayModel(seed: 3, at: start)
        let strayed = (0..<40_000).count { _ in
            weather.refusal(byLeaderOf: "old", partition: 0, at: start) != nil
        }
        #expect((50...150).contains(strayed), "\(strayed)")
        let slow = (0..<6000).count { _ in weather.responseDelayMilliseconds() != nil }
        #expect((50...150).contains(slow), "\(slow)")
    }
}
