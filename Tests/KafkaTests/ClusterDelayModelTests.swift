import Broker
import KafkaTesting
import Lifecycle
import Testing

/// The seeded delays and refusals of a cluster, here called its weather, without a broker. A test plays the time forward
/// in small steps and asks the model in each of them.
struct ClusterDelayModelTests {
    private let start = Instant(nanoseconds: 0)

    private func after(_ milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    /// Returns the answers to a client that asks every five milliseconds.
    private func answers(seed: UInt64) -> [String] {
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
        #expect(answers(seed: 7) == answers(seed: 7))
        #expect(answers(seed: 7) != answers(seed: 8))
    }

    @Test func `a new topic becomes known, gets a leader, is served, and stays served`() {
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            weather.recordCreation(ofTopic: "t", at: start)
            let visibilitiesInOrder: [TopicVisibility] = [.unknown, .leaderless, .whole]
            var lastIndex = 0
            var firstServedAt = Int.max
            for time in 0..<2000 {
                let now = after(time)
                let visibility = weather.visibility(of: "t", at: now)
                let index = visibilitiesInOrder.firstIndex(of: visibility) ?? 0
                #expect(index >= lastIndex, "seed \(seed)")
                lastIndex = index
                let refusal = weather.refusal(byLeaderOf: "t", partition: 0, at: now)
                if visibility == .unknown { #expect(refusal == .unknownTopicOrPartition, "seed \(seed)") }
                if visibility == .leaderless { #expect(refusal == .notLeaderOrFollower, "seed \(seed)") }
                if refusal == nil { firstServedAt = min(firstServedAt, time) }
            }
            let latest =
                ClusterDelayModel.Durations.topicUnknownMillisecondsMax
                + ClusterDelayModel.Durations.topicLeaderlessMillisecondsMax
                + ClusterDelayModel.Durations.topicNotServedMillisecondsMax
            #expect(firstServedAt <= latest + 10, "seed \(seed)")
            #expect(weather.visibility(of: "another", at: start) == .whole)
        }
    }

    @Test(arguments: [CoordinatorCall.group("g"), .transaction(id: "i"), .findGroup, .findTransaction])
    func `coordinators always return and are available most of the time`(call: CoordinatorCall) {
        for seed in UInt64(0)..<100 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            let stepMilliseconds = 10
            var absentMilliseconds = 0
            var longestAbsence = 0
            var absence = 0
            for time in stride(from: 0, to: 100_000, by: stepMilliseconds) {
                let isAbsent = weather.refusal(by: call, at: after(time)) != nil
                absence = isAbsent ? absence + stepMilliseconds : 0
                longestAbsence = max(longestAbsence, absence)
                absentMilliseconds += isAbsent ? stepMilliseconds : 0
            }
            #expect(
                longestAbsence
                    <= ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + stepMilliseconds,
                "seed \(seed)")
            #expect(absentMilliseconds < 12_000, "seed \(seed): at most an eighth of the time")
        }
    }

    @Test func `a transaction that ends delays only the next one of its id, for a moment`() {
        var delayedCount = 0
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            // The time is after the start and in calm weather.
            let end = after(ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + 1)
            guard weather.refusal(by: .end(id: "a"), at: end) == nil else { continue }
            #expect(weather.refusal(by: .transaction(id: "b"), at: end) == nil, "seed \(seed)")
            if weather.refusal(by: .transaction(id: "a"), at: end) == .concurrentTransactions {
                delayedCount += 1
            }
            let later = end.advanced(
                byMilliseconds: ClusterDelayModel.Durations.transactionEndMillisecondsMax)
            #expect(weather.refusal(by: .transaction(id: "a"), at: later) == nil, "seed \(seed)")
        }
        #expect(delayedCount > 100)
    }

    @Test func `a node is away for seconds, alone, and comes back`() {
        for seed in UInt64(0)..<50 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            let partitions = Int32(0)..<30
            var longestAbsence = 0
            var absentSteps = 0
            var absence = 0
            for time in stride(from: 0, to: 100_000, by: 50) {
                let leaderlessPartitions = partitions.count { partition in
                    weather.refusal(byLeaderOf: "t", partition: partition, at: after(time))
                        == .notLeaderOrFollower
                }
                // A few leaders stray at any time.
                absence = leaderlessPartitions > 4 ? absence + 50 : 0
                longestAbsence = max(longestAbsence, absence)
                absentSteps += absence > 0 ? 1 : 0
            }
            #expect(absentSteps > 0 && absentSteps < 1_200, "seed \(seed)")
            #expect(
                longestAbsence <= 3 * ClusterDelayModel.Durations.nodeAbsenceMilliseconds.upperBound,
                "seed \(seed)")
        }
    }

    @Test func `one partition at a time has too few replicas, and only for writes`() {
        for seed in UInt64(0)..<50 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            var refusalCount = 0
            for time in stride(from: 0, to: 100_000, by: 50) {
                let refusingPartitions = (0..<Int32(6)).filter {
                    weather.refusal(ofAppendTo: "t", partition: $0, at: after(time)) == .notEnoughReplicas
                }
                #expect(refusingPartitions.count <= 1, "seed \(seed)")
                refusalCount += refusingPartitions.count
            }
            #expect(refusalCount > 0 && refusalCount < 1_000, "seed \(seed)")
        }
    }

    @Test func `a static member whose coordinator dies is fenced by its own join, once`() {
        var fencedCount = 0
        for seed in UInt64(0)..<200 {
            var weather = ClusterDelayModel(seed: seed, at: start)
            var time = ClusterDelayModel.Durations.coordinatorLongStartMillisecondsMax + 1
            let join = CoordinatorCall.join(group: "g", instanceID: "a")
            guard weather.refusal(by: join, at: after(time)) == .notCoordinator else { continue }
            #expect(
                weather.refusal(by: .join(group: "g", instanceID: nil), at: after(time)) != .fencedInstanceID)
            // The member joins again when the group has its next coordinator.
            while let error = weather.refusal(by: .group("g"), at: after(time)), error != .none { time += 10 }
            if weather.refusal(by: join, at: after(time)) == .fencedInstanceID {
                fencedCount += 1
                #expect(weather.refusal(by: join, at: after(time)) != .fencedInstanceID, "seed \(seed)")
            }
        }
        #expect(fencedCount > 5)
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
