internal import Identifiers
internal import Jobs
internal import Payloads
internal import Sender
internal import Sends
internal import Simulation

// The output of the fan-out: sheets, and notes about superseded versions.
extension SenderSimulation {
    /// Stores a random sheet. A few are malformed.
    func makeSheet() {
        let lane = Self.lanes[random.number(below: Self.lanes.count)]
        let partition = SimulatedKafka.Partition(lane: lane, topic: occurs(percent: 30) ? .urgent : .normal)
        if occurs(percent: 3) {
            kafka.sheets[partition.index].append(.malformed)
            return
        }
        makeSheet(of: occurs(percent: 15) ? "wrong" : "shop", at: partition)
    }

    func makeSheet(of app: String, at partition: SimulatedKafka.Partition) {
        let lane = partition.lane
        let offset = kafka.endOffset(of: partition)
        let (head, lines) = makeJobs(lane: lane, app: app)
        let content = SheetContent(
            body: Array("{\"aps\":{}}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
            to: lines.bytes)
        var unproven = LineSet()
        for line in lines.jobs.indices where occurs(percent: 20) { unproven.append(line) }
        do { _ = try kafka.append(content, origin: nil, unproven: unproven, to: partition) } catch {
            return recordFault("a sheet cannot be read: \(error)")
        }
        let position = JobPosition(topic: partition.topic.word, partition: lane, offset: offset)
        for (line, job) in lines.jobs.enumerated() {
            jobs[SimulatedJobID(position: position, line: line)] = job
        }
        if occurs(percent: 40) { kafka.sheets[partition.index].append(.marker) }
    }

    /// Makes the jobs of one sheet. A sheet for a group has a line for most installations, and another sheet has one
    /// line.
    private func makeJobs(lane: Int32, app: String) -> (SheetHead, (bytes: [UInt8], jobs: [SimulatedJob])) {
        let event: PushEvent = occurs(percent: 30) ? .start : occurs(percent: 15) ? .end : .update
        let scope: ScopeKind = occurs(percent: 60) ? .group : .recipient
        version += 1
        // A few jobs expire within seconds.
        let nowSeconds = unixMilliseconds / 1000
        var head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: app,
            environment: .production, send: "s\(version)", group: "g\(random.number(below: 2))", scope: scope,
            generation: 0, version: version, event: event,
            deadline: nowSeconds + (occurs(percent: 5) ? 3 : 3600), acceptedAt: unixMilliseconds)
        head.isConflatable = !occurs(percent: 10)
        head.unknownStartPolicy = occurs(percent: 20) ? .resend : .skip
        head.attemptsMax = 1 + random.number(below: 6)
        var lines = JobLines()
        var jobs: [SimulatedJob] = []
        for installation in 0..<(scope == .group ? Self.installations : 1) {
            if scope == .group, occurs(percent: 30) { continue }
            let name = scope == .group ? "i\(installation)" : "i\(random.number(below: Self.installations))"
            let entry = event == .start ? "start:T" : "update:a-\(head.group!)-\(name)"
            let recipient = "\(lane)-\(name)"
            lines.append(
                token: Array("00".utf8).span, installation: Array(recipient.utf8).span,
                entry: Array(entry.utf8).span, recipient: Array("i:\(recipient)".utf8).span)
            let subject = event == .start ? "\(app) \(recipient)" : "\(app) \(recipient) \(entry)"
            jobs.append(
                SimulatedJob(head: head, subject: subject, activity: "\(scope) \(head.group!) \(subject)"))
        }
        if jobs.isEmpty { return makeJobs(lane: lane, app: app) }
        return (head, (lines.bytes, jobs))
    }

    /// Returns a note with the newest versions of a random group of the app `shop`, or nil if the group has no sheet.
    func makeNote() -> SupersededVersions? {
        let group = "g\(random.number(below: 2))"
        let heads = jobs.values.map(\.head).filter {
            $0.group == group && $0.scope == .group && $0.app == "shop"
        }
        guard !heads.isEmpty else { return nil }
        let updateVersion = heads.filter { $0.event == .update }.map(\.version).max() ?? 0
        let endVersion = heads.filter { $0.event == .end }.map(\.version).max() ?? 0
        let cancelledSends = occurs(percent: 20) ? [heads[random.number(below: heads.count)].send] : []
        return SupersededVersions(
            app: "shop", group: group, updateVersion: updateVersion, endVersion: endVersion,
            cancelledSends: cancelledSends)
    }
}
