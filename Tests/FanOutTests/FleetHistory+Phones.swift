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
        waiting.shuffle(using: &random)
        for _ in 0..<min(waiting.count, 1 + random.number(below: 8)) {
            if let job = waiting.popLast() { try deliver(job) }
        }
    }

    func deliver(_ job: Job) throws {
        guard let index = phones.firstIndex(where: { $0.installation == job.installation }) else {
            throw Wrong(description: "a job for an unknown installation")
        }
        let push = Push(job.body)
        if job.recipient != "u:" + phones[index].user {
            throw Wrong(description: "a job of another recipient")
        }
        if push.event == .start {
            activities += 1
            phones[index].activities.append(
                Activity(
                    id: "act\(activities)", group: job.head.group ?? "",
                    tellsGroup: !isSilent || chance(50), state: push.state,
                    version: push.timestamp))
            return
        }
        guard
            let place = phones[index].activities.firstIndex(where: { "update:" + $0.id == job.entry })
        else { throw Wrong(description: "a job for an unknown activity") }
        var activity = phones[index].activities[place]
        if let seen = activity.seen[push.timestamp], push.event == .update, seen != push.state {
            throw Wrong(description: "two states under version \(push.timestamp)")
        }
        if push.event == .update { activity.seen[push.timestamp] = push.state }
        guard !activity.hasEnded else { return }
        guard push.timestamp >= activity.version else {
            if push.event == .end { phones[index].activities[place].hasMissedEnd = true }
            return
        }
        activity.version = push.timestamp
        if push.event == .end { activity.hasEnded = true } else { activity.state = push.state }
        phones[index].activities[place] = activity
    }

    func report() {
        let index = random.number(below: phones.count)
        if phones[index].startToken == nil || chance(5) { return reportStart(index) }
        if chance(4) {
            beginByItself(index, "solo")
        }
        guard let place = phones[index].activities.indices.randomElement(using: &random) else { return }
        if phones[index].activities[place].hasEnded {
            guard phones[index].activities[place].token != nil, chance(50) else { return }
            phones[index].activities[place].token = nil
            write(phones[index], .update(activity: phones[index].activities[place].id), nil)
        } else if phones[index].activities[place].token == nil || chance(20) {
            reportUpdate(index, place)
        }
    }

    /// Lets an app begin an activity itself.
    func beginByItself() {
        let index = fate.number(below: phones.count)
        beginByItself(index, fate.number(below: isSilent ? 1 : 4) == 3 ? "chest" : "match")
    }

    func beginByItself(_ index: Int, _ group: String) {
        activities += 1
        var activity = Activity(
            id: "act\(activities)", group: group, tellsGroup: true, state: nil, version: 0)
        activity.isOwn = true
        phones[index].activities.append(activity)
    }

    func reportStart(_ index: Int) {
        tokens += 1
        phones[index].startToken = tokens
        if phones[index].startOffset == nil {
            phones[index].startOffset = topics[lane(of: phones[index].user)].registry.count
        }
        write(phones[index], .start(type: "Match"), tokenRow())
    }

    func reportUpdate(_ index: Int, _ place: Int) {
        tokens += 1
        phones[index].activities[place].token = tokens
        let activity = phones[index].activities[place]
        var row = tokenRow()
        if activity.tellsGroup { row.group = activity.group }
        write(phones[index], .update(activity: activity.id), row)
    }

    func tokenRow() -> TokenRow {
        let digits = String(tokens, radix: 16)
        let hash = String(repeating: "0", count: 32 - digits.count) + digits
        return TokenRow(
            environment: .production, token: hash, tokenHash: hash, attributesType: "Match",
            registeredAt: stamp)
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
