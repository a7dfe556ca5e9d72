import FanOut
import Jobs
import Payloads
import Sends
import Simulation

// The end of a history: its remaining work, and the checks after it.
extension FleetHistory {
    /// Runs without failures until all reports and jobs are done.
    func settle() throws {
        let roundsMax = 400
        for _ in 0..<roundsMax {
            try passTime(seconds: 1)
            for lane in topics.indices { try runTransaction(of: lane, isCalm: true) }
            while !subscriptions.isEmpty { try answer() }
            while let job = waitingJobs.popLast() { try deliver(job) }
            var isQuiet = heldSends.isEmpty && topics.allSatisfy(\.isDone)
            for index in phones.indices {
                for activityIndex in phones[index].activities.indices
                where !phones[index].activities[activityIndex].hasEnded
                    && phones[index].activities[activityIndex].token == nil
                {
                    reportUpdateToken(ofPhone: index, activity: activityIndex)
                    isQuiet = false
                }
            }
            if isQuiet { return }
        }
        throw Violation(description: "the history does not settle in \(roundsMax) rounds")
    }

    /// Sends an END and then a new start, with or without days in between, after which the planner has
    /// forgotten the group. The start must reach each phone once.
    func endAndStartAgain() throws {
        now += 60
        sendCount += 1
        let end = makeSend(.end, id: "s\(sendCount)", state: sendCount)
        try take(try planner.plan(.send(end), stamp: nowMilliseconds, app: shop, in: &rows))
        try settle()
        if chance(50) {
            now += 4 * 86_400
            rows = Rows()
        }
        now += 1
        var start = makeSend(.start, to: .everyone, id: "s\(sendCount + 1)", state: sendCount + 1)
        start.acceptedAt = nowMilliseconds
        let plan = try planner.plan(.send(start), stamp: nowMilliseconds, app: shop, in: &rows)
        try take(plan)
        try settle()
        guard let generation = plan.expansions.first?.expansion.generation else {
            throw Violation(description: "the start has no expansion")
        }
        for phone in phones where phone.startToken != nil {
            let count = starts["match/u:\(phone.user)/\(generation)/\(phone.installation)"] ?? 0
            if count != 1 {
                throw Violation(description: "\(count) starts of \(phone.installation) in a new generation")
            }
        }
        try check()
    }

    func check() throws {
        if completionReports != expectedReports {
            throw Violation(
                description: "completion reports \(completionReports), expected \(expectedReports)")
        }
        try checkTimestamps()
        for phone in phones {
            try checkStarts(of: phone)
            for activity in phone.activities {
                guard let truth = account.truth(activity.group, phone.user, activity: activity.id) else {
                    continue
                }
                if activity.hasEnded { continue }
                let name = "\(activity.id) of \(phone.user) in \(activity.group)"
                if truth.hasEnded { throw Violation(description: "\(name) did not get its END") }
                // The ledger knows only installations. It takes an activity that the app began for the one
                // that was started there.
                if activity.isOwn, isStarted(phone, in: activity.group) { continue }
                let states = account.states(of: truth, isOwn: activity.isOwn)
                if !states.contains(activity.state) {
                    throw Violation(
                        description:
                            "\(name) shows \(activity.state ?? "-") of \(activity.timestamp), not \(states)")
                }
            }
        }
    }

    /// Checks that the newest update of each activity has the highest timestamp, or that an END has a higher one. So
    /// the activity ends, or its phone ends on that state, in every order in which APNs delivers.
    ///
    /// A lane does not know the generation of an activity. If a recipient was started again after an END, the updates
    /// after that END also go to the activities that it has ended.
    private func checkTimestamps() throws {
        for (activity, pushes) in updates {
            guard let newest = pushes.max(by: { $0.version < $1.version }) else { continue }
            if let end = endTimestamps[activity], end > newest.timestamp { continue }
            for push in pushes where push.version < newest.version && push.timestamp >= newest.timestamp {
                throw Violation(description: "\(activity): \(push) is not older for the phone than \(newest)")
            }
        }
    }

    /// Lets eight hours pass and checks that a safety END ends every running activity.
    func checkSafetyEnds() throws {
        now += SafetyEnd.milliseconds / 1000 + 60
        for lane in topics.indices {
            let outcome = try owner(of: lane).sendSafetyEnds(on: topics[lane], now: nowMilliseconds)
            topics[lane].starts += outcome.starts
            for job in outcome.jobs {
                if job.head.event != .end {
                    throw Violation(description: "a safety END has the event \(job.head.event)")
                }
                try deliver(job)
            }
        }
        for phone in phones {
            for activity in phone.activities where !activity.hasEnded && !activity.hasMissedEnd {
                throw Violation(description: "\(activity.id) of \(phone.user) has no safety END")
            }
        }
    }

    private func isStarted(_ phone: Phone, in group: String) -> Bool {
        (Array(starts.keys) + restarts.keys).contains {
            $0.hasPrefix("\(group)/u:\(phone.user)/") && $0.hasSuffix("/\(phone.installation)")
        }
    }

    /// Checks that each phone that could be started got each start of its current generation.
    private func checkStarts(of phone: Phone) throws {
        guard let offset = phone.startOffset else { return }
        for group in ["match", "chest"] {
            for start in account.standingStarts(group, phone.user) where offset < start.registryOffset {
                // A late start of the previous generation may count for this one. Generations tell them
                // apart.
                let generations = account.truth(group, phone.user)?.generations ?? []
                let startNames = generations.map { "\(group)/u:\(phone.user)/\($0)/\(phone.installation)" }
                let count = startNames.map { starts[$0] ?? 0 }.reduce(0, +)
                let isRestarted = startNames.contains { restarts[$0] != nil }
                let isMissing = count == 0 && !isRestarted
                if isMissing || count > 1 {
                    throw Violation(
                        description:
                            "\(count) starts of \(phone.installation) in \(group), in the generation of \(start.send)"
                    )
                }
            }
        }
    }
}
