import FanOut
import Jobs
import Payloads
import Sends
import Simulation

// The end of a history: its remaining work, and the checks after it.
extension FleetHistory {
    /// Runs without failures until all reports and jobs are done.
    func settle() throws {
        for round in 0..<400 {
            try goOn(1)
            for lane in topics.indices { try turn(lane, isCalm: true) }
            while !subscriptions.isEmpty { try answer() }
            while let job = waiting.popLast() { try deliver(job) }
            var isQuiet = held.isEmpty && topics.allSatisfy(\.isDone)
            for index in phones.indices {
                for place in phones[index].activities.indices
                where !phones[index].activities[place].hasEnded
                    && phones[index].activities[place].token == nil
                {
                    reportUpdate(index, place)
                    isQuiet = false
                }
            }
            if isQuiet { return }
            if round == 399 { throw Wrong(description: "the history does not settle") }
        }
    }

    /// Sends an END and then a new start, with or without days in between, after which the planner has
    /// forgotten the group. The start must reach each phone once.
    func beginAnew() throws {
        now += 60
        sends += 1
        let end = makeSend(.end, id: "s\(sends)", state: sends)
        try take(try planner.plan(.send(end), stamp: stamp, app: shop, in: &rows))
        try settle()
        if chance(50) {
            now += 4 * 86_400
            rows = Rows()
        }
        now += 1
        var start = makeSend(.start, to: .everyone, id: "s\(sends + 1)", state: sends + 1)
        start.acceptedAt = stamp
        let plan = try planner.plan(.send(start), stamp: stamp, app: shop, in: &rows)
        try take(plan)
        try settle()
        guard let life = plan.expansions.first?.expansion.generation else {
            throw Wrong(description: "the start has no expansion")
        }
        for phone in phones where phone.startToken != nil {
            let count = starts["match/u:\(phone.user)/\(life)/\(phone.installation)"] ?? 0
            if count != 1 {
                throw Wrong(description: "\(count) starts of \(phone.installation) in a new generation")
            }
        }
        try check()
    }

    func check() throws {
        if closed != expected {
            throw Wrong(description: "closing records \(closed), expected \(expected)")
        }
        for phone in phones {
            try checkStarts(of: phone)
            for activity in phone.activities {
                guard let truth = account.truth(activity.group, phone.user) else { continue }
                if activity.hasEnded { continue }
                let name = "\(activity.id) of \(phone.user) in \(activity.group)"
                if truth.hasEnded { throw Wrong(description: "\(name) did not get its END") }
                // The ledger knows only installations. It takes an activity that the app began for the one
                // that was started there.
                if activity.isOwn, isStarted(phone, in: activity.group) { continue }
                let states = account.states(of: truth, isOwn: activity.isOwn)
                if !states.contains(activity.state) {
                    throw Wrong(
                        description:
                            "\(name) shows \(activity.state ?? "-") of \(activity.version), not \(states)")
                }
            }
        }
    }

    /// Lets eight hours pass and checks that a safety END ends every running activity.
    func passTheDay() throws {
        now += SafetyEnd.milliseconds / 1000 + 60
        for lane in topics.indices {
            let outcome = try owner(of: lane).endSafely(on: topics[lane], now: stamp)
            topics[lane].starts += outcome.starts
            for job in outcome.jobs {
                if job.head.event != .end {
                    throw Wrong(description: "a safety END has the event \(job.head.event)")
                }
                try deliver(job)
            }
        }
        for phone in phones {
            for activity in phone.activities where !activity.hasEnded && !activity.hasMissedEnd {
                throw Wrong(description: "\(activity.id) of \(phone.user) has no safety END")
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
            for start in account.standingStarts(group, phone.user) where offset < start.registry {
                // A late start of the previous generation may count for this one. Generations tell them
                // apart.
                let lives = account.truth(group, phone.user)?.generations ?? []
                let names = lives.map { "\(group)/u:\(phone.user)/\($0)/\(phone.installation)" }
                let count = names.map { starts[$0] ?? 0 }.reduce(0, +)
                let isRestarted = names.contains { restarts[$0] != nil }
                if count != 1, count > 1 || !isRestarted {
                    throw Wrong(
                        description:
                            "\(count) starts of \(phone.installation) in \(group), in the generation of \(start.send)"
                    )
                }
            }
        }
    }
}
