import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import RecordFormat
import Simulation

// The pushes that phones get, and the reports that they send.
extension FleetHistory {
    func deliver() throws {
        waitingJobs.shuffle(using: &random)
        for _ in 0..<min(waitingJobs.count, 1 + random.number(below: 8)) {
            if let job = waitingJobs.popLast() { try deliver(job) }
        }
    }

    func deliver(_ job: Job) throws {
        guard let index = phones.firstIndex(where: { $0.installation == job.installation }) else {
            throw Violation(description: "a job for an unknown installation")
        }
        let push = Push(job.body)
        if job.recipient != "u:" + phones[index].user {
            throw Violation(description: "a job of another recipient")
        }
        if push.event == .start {
            activityCount += 1
            phones[index].activities.append(
                Activity(
                    id: "act\(activityCount)", group: job.head.group ?? "",
                    reportsGroup: !hidesSomeGroups || chance(50), state: push.state,
                    timestamp: push.timestamp))
            return
        }
        guard
            let activityIndex = phones[index].activities.firstIndex(where: { "update:" + $0.id == job.entry })
        else { throw Violation(description: "a job for an unknown activity") }
        var activity = phones[index].activities[activityIndex]
        guard !activity.hasEnded else { return }
        guard push.timestamp > activity.timestamp else {
            if push.event == .end { phones[index].activities[activityIndex].hasMissedEnd = true }
            return
        }
        activity.timestamp = push.timestamp
        if push.event == .end { activity.hasEnded = true } else { activity.state = push.state }
        phones[index].activities[activityIndex] = activity
    }

    func report() {
        let index = random.number(below: phones.count)
        if phones[index].startToken == nil || chance(5) { return reportStartToken(ofPhone: index) }
        if chance(4) {
            startOwnActivity(onPhone: index, in: "solo")
        }
        guard let activityIndex = phones[index].activities.indices.randomElement(using: &random) else {
            return
        }
        if phones[index].activities[activityIndex].hasEnded {
            guard phones[index].activities[activityIndex].token != nil, chance(50) else { return }
            removeUpdateToken(ofPhone: index, activity: activityIndex)
        } else if phones[index].activities[activityIndex].token == nil || chance(20) {
            reportUpdateToken(ofPhone: index, activity: activityIndex)
        }
    }

    /// Lets an app begin an activity itself.
    func startOwnActivity() {
        let index = extraRandom.number(below: phones.count)
        startOwnActivity(
            onPhone: index, in: extraRandom.number(below: hidesSomeGroups ? 1 : 4) == 3 ? "chest" : "match")
    }

    func startOwnActivity(onPhone index: Int, in group: String) {
        activityCount += 1
        var activity = Activity(
            id: "act\(activityCount)", group: group, reportsGroup: true, state: nil, timestamp: 0)
        activity.isOwn = true
        phones[index].activities.append(activity)
    }

    func reportStartToken(ofPhone index: Int) {
        tokenCount += 1
        phones[index].startToken = tokenCount
        if phones[index].startOffset == nil {
            phones[index].startOffset = topics[lane(of: phones[index].user)].registry.count
        }
        write(phones[index], .start(type: "Match"), tokenRow(number: tokenCount))
    }

    func reportUpdateToken(ofPhone index: Int, activity activityIndex: Int) {
        tokenCount += 1
        phones[index].activities[activityIndex].token = tokenCount
        writeUpdateToken(ofPhone: index, activity: activityIndex, isUnproven: true)
    }

    /// Writes the record of an update token, whether it is new or not.
    private func writeUpdateToken(ofPhone index: Int, activity activityIndex: Int, isUnproven: Bool) {
        let activity = phones[index].activities[activityIndex]
        guard let token = activity.token else { return }
        var row = tokenRow(number: token)
        if activity.reportsGroup { row.group = activity.group }
        row.isUnproven = isUnproven
        write(phones[index], .update(activity: activity.id), row)
    }

    /// Lets a record repeat the token of a running activity: the phone reports it again, or APNs has accepted it.
    func repeatReport() {
        let index = extraRandom.number(below: phones.count)
        let running = phones[index].activities.indices.filter {
            !phones[index].activities[$0].hasEnded && phones[index].activities[$0].token != nil
        }
        guard let activity = running.randomElement(using: &extraRandom) else { return }
        writeUpdateToken(ofPhone: index, activity: activity, isUnproven: false)
    }

    /// Lets a phone remove the token of an ended activity. A walk that has not come to it then finds no token.
    private func removeUpdateToken(ofPhone index: Int, activity activityIndex: Int) {
        let id = phones[index].activities[activityIndex].id
        phones[index].activities[activityIndex].token = nil
        owedVisits = owedVisits.filter { $0.activity != id }
        write(phones[index], .update(activity: id), nil)
    }

    private func tokenRow(number: Int) -> TokenRow {
        let digits = String(number, radix: 16)
        let hash = String(repeating: "0", count: 32 - digits.count) + digits
        return TokenRow(
            environment: .production, token: hash, tokenHash: hash, attributesType: "Match",
            registeredAt: nowMilliseconds)
    }

    func write(_ phone: Phone, _ entry: RegistryKey.Entry, _ row: TokenRow?) {
        topics[lane(of: phone.user)].registry.append(
            VirtualLane.Record(key: key(phone, entry), value: row?.encoded()))
    }

    func key(_ phone: Phone, _ entry: RegistryKey.Entry) -> [UInt8] {
        RegistryKey(
            app: "shop", recipient: .user(phone.user), installation: phone.installation, entry: entry
        ).bytes
    }
}
