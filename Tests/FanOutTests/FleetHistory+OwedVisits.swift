import FanOut
import InstallationRecords
import Jobs
import Payloads
import RecordFormat
import Sends
import Simulation

/// A push that an update with `conflate: false` must make, even if a newer update follows. It is not owed to an activity
/// that has ended on its phone, or whose token the phone has removed before.
struct OwedVisit: Hashable {
    let send: String
    let user: String
    let group: String
    let activity: String
    /// The number of ENDs that the user had got when the update was planned. An END ends the debt.
    let endCount: Int
}

// Updates that no newer update replaces. Each reaches every member that its lane knows when it is planned.
extension FleetHistory {
    func oweVisits(by part: Plan.LaneExpansion) {
        let update = part.expansion
        guard update.content.event == .update, !update.isConflatable, update.targets == .group,
            let group = update.key.group
        else { return }
        let laneNumbers = Set(part.lanes.lanes(of: lanes))
        for phone in phones where laneNumbers.contains(lane(of: phone.user)) {
            let topic = topics[lane(of: phone.user)]
            for activity in phone.activities
            where activity.group == group && activity.reportsGroup && activity.token != nil {
                let truth = account.truth(group, phone.user, activity: activity.id)
                if truth?.hasEnded ?? false { continue }
                let key = key(phone, .update(activity: activity.id))
                guard topic.registry[..<topic.committed.registry].contains(where: { $0.key == key }) else {
                    continue
                }
                owedVisits.insert(
                    OwedVisit(
                        send: update.send, user: phone.user, group: group, activity: activity.id,
                        endCount: truth?.endCount ?? 0))
            }
        }
    }

    func noteVisit(by job: Job) {
        if owedVisits.isEmpty { return }
        owedVisits = owedVisits.filter { $0.send != job.head.send || "update:" + $0.activity != job.entry }
    }

    func checkOwedVisits() throws {
        let ended = Set(phones.flatMap(\.activities).filter(\.hasEnded).map(\.id))
        for visit in owedVisits where !account.isCancelled(visit.send) && !ended.contains(visit.activity) {
            let truth = account.truth(visit.group, visit.user, activity: visit.activity)
            if let truth, truth.endCount == visit.endCount {
                throw Violation(description: "\(visit.send) did not reach \(visit.activity) of \(visit.user)")
            }
        }
    }
}
