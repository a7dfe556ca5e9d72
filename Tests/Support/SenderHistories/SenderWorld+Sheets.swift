internal import LiveActivity
internal import Sender
internal import Simulation

// The output of the fan-out.
extension SenderWorld {
    func makeSheet() {
        let lane = Self.lanes[random.below(Self.lanes.count)]
        let place = WorldKafka.Place(lane: lane, topic: chance(30) ? .urgent : .usual)
        if chance(3) {
            kafka.sheets[place.index].append(.nonsense)
            return
        }
        makeSheet(of: chance(15) ? "wrong" : "shop", at: place)
    }

    func makeSheet(of app: String, at place: WorldKafka.Place) {
        let lane = place.lane
        let offset = kafka.end(place)
        let (head, lines) = makeJobs(lane, of: app)
        let content = SheetContent(
            body: Array("{\"aps\":{}}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
            to: lines.bytes)
        do { _ = try kafka.append(content, origin: nil, to: place) } catch {
            return fault("a sheet cannot be read: \(error)")
        }
        let named = JobPosition(topic: place.topic.word, partition: lane, offset: offset)
        for (line, job) in lines.jobs.enumerated() { jobs[WorldJobName(place: named, line: line)] = job }
        if chance(40) { kafka.sheets[place.index].append(.marker) }
    }

    private func makeJobs(_ lane: Int32, of app: String) -> (SheetHead, (bytes: [UInt8], jobs: [WorldJob])) {
        let event: PushEvent = chance(30) ? .start : chance(15) ? .end : .update
        let scope: SheetHead.Scope = chance(60) ? .group : .recipient
        version += 1
        let order = version
        var head = SheetHead(
            topic: "t.push-type.liveactivity", priority: 10, expiration: 0, app: app,
            environment: .production,
            send: "s\(order)", group: "g\(random.below(2))", scope: scope, generation: 0, version: order,
            event: event, deadline: wall / 1000 + (chance(5) ? 3 : 3600), acceptedAt: wall)
        head.isConflatable = !chance(10)
        head.unknownStartPolicy = chance(20) ? .resend : .skip
        head.attemptsMax = 1 + random.below(6)
        var lines = JobLines()
        var made: [WorldJob] = []
        for installation in 0..<(scope == .group ? Self.installations : 1) {
            if scope == .group, chance(30) { continue }
            let name = scope == .group ? "i\(installation)" : "i\(random.below(Self.installations))"
            let entry = event == .start ? "start:T" : "update:a-\(head.group!)-\(name)"
            let recipient = "\(lane)-\(name)"
            lines.append(
                token: Array("00".utf8).span, installation: Array(recipient.utf8).span,
                entry: Array(entry.utf8).span, recipient: Array("i:\(recipient)".utf8).span)
            let subject = event == .start ? "\(app) \(recipient)" : "\(app) \(recipient) \(entry)"
            made.append(
                WorldJob(head: head, subject: subject, activity: "\(scope) \(head.group!) \(subject)"))
        }
        if made.isEmpty { return makeJobs(lane, of: app) }
        return (head, (lines.bytes, made))
    }

    func makeNote() -> SupersededVersions? {
        let group = "g\(random.below(2))"
        let heads = jobs.values.map(\.head).filter {
            $0.group == group && $0.scope == .group && $0.app == "shop"
        }
        guard !heads.isEmpty else { return nil }
        let update = heads.filter { $0.event == .update }.map(\.version).max() ?? 0
        let end = heads.filter { $0.event == .end }.map(\.version).max() ?? 0
        let cancelled = chance(20) ? [heads[random.below(heads.count)].send] : []
        return SupersededVersions(
            app: "shop", group: group, updateVersion: update, endVersion: end, cancelledSends: cancelled)
    }
}
