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
        let owner = try LaneOwner(lane, path(lane, random.number(below: 2)), topics[lane])
        owners[lane] = owner
        return owner
    }

    func turn(_ lane: Int, isCalm: Bool = false) throws {
        let owner = try owner(of: lane)
        let topic = topics[lane]
        let plan = LaneOwner.Plan(
            registryUpTo: isCalm
                ? topic.registry.count
                : topic.committed.registry
                    + random.number(below: topic.registry.count - topic.committed.registry + 1),
            isUrgent: chance(50), expansions: random.number(below: 4), rowsMax: 1 + random.number(below: 4))
        let outcome = try owner.run(plan, on: topic, now: stamp)
        if !isCalm, chance(20) {
            // The transaction fails. The next owner of the lane begins at the committed offsets.
            try owner.close()
            owners[lane] = nil
            return
        }
        let before = LaneRows(replaying: topics[lane].starts)
        let read = (topics[lane].committed.urgent, topics[lane].committed.usual)
        topics[lane].committed = outcome.committed
        topics[lane].starts += outcome.starts
        topics[lane].urgent += outcome.urgent
        topics[lane].usual += outcome.usual
        try noteReached(in: lane, by: owner, urgentFrom: read.0, usualFrom: read.1)
        for progress in outcome.progress { closed["\(progress.send)/\(lane)", default: 0] += 1 }
        for job in outcome.jobs { try look(at: job, after: before) }
        waiting += outcome.jobs
        subscriptions += outcome.subscriptions
    }

    /// Notes the users whose activities were found by sends to named activities that the lane has just read.
    private func noteReached(
        in lane: Int, by owner: LaneOwner, urgentFrom urgent: Int, usualFrom usual: Int
    ) throws {
        let topic = topics[lane]
        let records =
            topic.urgent[urgent..<topic.committed.urgent] + topic.usual[usual..<topic.committed.usual]
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
            var reached: Set<String> = []
            for phone in phones {
                for activity in phone.activities where names.contains(activity.id) {
                    guard let row = present[key(phone, .update(activity: activity.id))] else { continue }
                    let alone = ScopeKey(app: "shop", activity: activity.id)
                    let joined = try rows?.scope(for: alone.bytes)?.joinedGroup?.group
                    if row.group ?? joined == group { reached.insert(phone.user) }
                }
            }
            account.reach(reached, by: expansion.send)
        }
    }

    /// Counts a start. A restart counts separately, because it also reaches installations that were started
    /// before.
    private func count(_ start: Job, in life: String) throws {
        if sent.contains(where: { $0.id == start.head.send && $0.forcesRestart }) {
            let isNew = restarts[life, default: []].insert(start.head.send).inserted
            if !isNew {
                throw Wrong(description: "a second start by \(start.head.send) in generation \(life)")
            }
        } else {
            starts[life, default: 0] += 1
            if starts[life] != 1 { throw Wrong(description: "a second start in generation \(life)") }
        }
    }

    /// Checks a job. Jobs come in the order in which a lane writes them.
    ///
    /// - Parameter rows: The lane's rows before the transaction.
    func look(at job: Job, after rows: LaneRows) throws {
        let push = Push(job.body)
        if push.event == .end ? push.timestamp < job.head.version : push.timestamp != job.head.version {
            throw Wrong(
                description:
                    "a body with timestamp \(push.timestamp) and a head with version \(job.head.version)")
        }
        switch push.event {
        case .start:
            let life = "\(job.head.group ?? "")/\(job.recipient)/\(job.head.generation)/\(job.installation)"
            try count(job, in: life)
            let key = ScopeKey(
                app: "shop", group: job.head.group ?? "", recipient: Recipient(text: job.recipient))
            if let states = account.statesWhenStarted(job.head, job.recipient), !states.contains(push.state) {
                throw Wrong(
                    description: "\(life) was started with \(push.state ?? "-"), older than \(states)")
            }
            if let end = try rows.scope(for: key.bytes)?.endVersion, end > job.head.generation {
                throw Wrong(description: "a start of generation \(job.head.generation) after the END \(end)")
            }
        case .end: ends[job.token] = max(ends[job.token] ?? 0, job.head.version)
        case .update:
            if let end = ends[job.token], job.head.generation < end {
                throw Wrong(description: "an update \(push.timestamp) after the END \(end)")
            }
        }
    }
}
