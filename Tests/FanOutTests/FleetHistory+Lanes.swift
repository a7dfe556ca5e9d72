import FanOut
import Foundation
import Identifiers
import InstallationRecords
import JSON
import Jobs
import Payloads
import RecordFormat
import Registry
import Sends
import Simulation

// The steps of the lane owners, and the checks of their output.
extension FleetHistory {
    func owner(of lane: Int) throws -> LaneOwner {
        if let owner = owners[lane] { return owner }
        let owner = try LaneOwner(
            lane: lane, directory: path(lane, random.number(below: 2)), topics: topics[lane])
        owners[lane] = owner
        return owner
    }

    func runTransaction(of lane: Int, isCalm: Bool = false) throws {
        let owner = try owner(of: lane)
        let topic = topics[lane]
        let unreadCount = topic.registry.count - topic.committed.registry
        let readCount = isCalm ? unreadCount : random.number(below: unreadCount + 1)
        let plan = LaneOwner.Plan(
            registryUpTo: topic.committed.registry + readCount, takesArrivals: chance(50),
            expansions: random.number(below: 4),
            rowsMax: 1 + random.number(below: 4))
        let outcome = try owner.run(plan, on: topic, now: nowMilliseconds)
        if !isCalm, chance(20) {
            // The transaction fails. The next owner of the lane begins at the committed offsets.
            try owner.close()
            owners[lane] = nil
            return
        }
        let before = LaneRows(replaying: topics[lane].starts)
        let firstArrival = topics[lane].committed.arrivals
        topics[lane].committed = outcome.committed
        topics[lane].starts += outcome.starts
        topics[lane].walks += outcome.walks
        try noteReached(in: lane, by: owner, from: firstArrival)
        for progress in outcome.progress { completionReports["\(progress.send)/\(lane)", default: 0] += 1 }
        for job in outcome.jobs {
            try check(job, rowsBefore: before)
            noteVisit(by: job)
        }
        waitingJobs += outcome.jobs
        subscriptions += outcome.subscriptions
    }

    /// Notes the users whose activities were found by sends to named activities that the lane has just read.
    ///
    /// - Parameter first: the offset of the first record that the lane has read.
    private func noteReached(in lane: Int, by owner: LaneOwner, from first: Int) throws {
        let topic = topics[lane]
        let records = topic.arrivals[first..<topic.committed.arrivals]
        var present: [[UInt8]: TokenRow] = [:]
        var rows: LaneRows?
        for record in records {
            guard
                case .expansion(let expansion) = try ExpansionRequest.decode(
                    record, with: JSONReader(limits: Expansion.limits)),
                case .activities(let names) = expansion.targets, let group = expansion.key.group
            else { continue }
            if rows == nil {
                rows = LaneRows(replaying: topic.starts)
                for record in topic.registry[..<owner.registryRead] {
                    present[record.key] = try record.value.map { try TokenRow.decode($0, with: JSONReader()) }
                }
            }
            var (reached, kept): (Set<String>, Set<String>) = ([], [])
            for phone in phones where self.lane(of: phone.user) == lane {
                for activity in phone.activities where names.contains(activity.id) {
                    let row = present[key(phone, .update(activity: activity.id))]
                    let activityKey = ScopeKey(app: "shop", activity: activity.id)
                    let joined = try rows?.scope(for: activityKey.bytes)?.joinedGroup?.group
                    if let row, row.group ?? joined == group {
                        reached.insert(phone.user)
                    } else {
                        kept.insert(activity.id)
                    }
                }
            }
            account.reach(reached, by: expansion.send)
            account.keep(kept, by: expansion.send)
        }
    }

    /// Counts a start. A restart counts separately, because it also reaches installations that were started
    /// before.
    private func count(_ start: Job, inGeneration generation: String) throws {
        if sent.contains(where: { $0.id == start.head.send && $0.forcesRestart }) {
            let isFirst = restarts[generation, default: []].insert(start.head.send).inserted
            if !isFirst {
                throw Violation(
                    description: "a second start by \(start.head.send) in generation \(generation)")
            }
        } else {
            starts[generation, default: 0] += 1
            if starts[generation] != 1 {
                throw Violation(description: "a second start in generation \(generation)")
            }
        }
    }

    /// Checks a job. Jobs come in the order in which a lane writes them.
    ///
    /// - Parameter rows: The lane's rows before the transaction.
    func check(_ job: Job, rowsBefore rows: LaneRows) throws {
        let push = Push(job.body)
        let activity = "\(job.installation)/\(job.entry)"
        switch push.event {
        case .start:
            let generation =
                "\(job.head.group ?? "")/\(job.recipient)/\(job.head.generation)/\(job.installation)"
            try count(job, inGeneration: generation)
            let key = ScopeKey(
                app: "shop", group: job.head.group ?? "", recipient: Recipient(text: job.recipient))
            if let states = account.statesWhenStarted(job.head, job.recipient), !states.contains(push.state) {
                throw Violation(
                    description: "\(generation) was started with \(push.state ?? "-"), older than \(states)")
            }
            if let end = try rows.scope(for: key.bytes)?.endVersion, end > job.head.generation {
                throw Violation(
                    description: "a start of generation \(job.head.generation) after the END \(end)")
            }
        case .end:
            ends[job.token] = max(ends[job.token] ?? 0, job.head.version)
            endTimestamps[activity] = max(endTimestamps[activity] ?? 0, push.timestamp)
        case .update:
            updates[activity, default: []].append((version: job.head.version, timestamp: push.timestamp))
            if let end = ends[job.token], job.head.generation < end {
                throw Violation(description: "an update \(push.timestamp) after the END \(end)")
            }
        }
    }
}
