internal import Identifiers
internal import Jobs
internal import Payloads
internal import Sender
internal import Sends
internal import Simulation

// The output of the fan-out: sheets, and notes about superseded versions. A note tells all senders the newest versions
// of a group and its cancelled sends, so that they drop older jobs.
extension SenderSimulation {
    /// Stores a random sheet in `SimulatedKafka`. A few are malformed.
    func makeSheet() {
        let lane = Self.lanes[random.number(below: Self.lanes.count)]
        let partition = SimulatedKafka.Partition(lane: lane, topic: occurs(percent: 30) ? .urgent : .normal)
        if occurs(percent: 3) {
            kafka.sheets[partition.index].append(.malformed)
            return
        }
        makeSheet(of: occurs(percent: 15) ? Self.faultyApp : Self.soundApp, at: partition)
    }

    /// Stores a sheet of one app, and remembers its jobs.
    func makeSheet(of app: String, at partition: SimulatedKafka.Partition) {
        let lane = partition.lane
        let offset = kafka.endOffset(of: partition)
        let sheet = makeJobs(lane: lane, app: app)
        let content = SheetContent(
            body: Array("{\"aps\":{}}".utf8), apns: sheet.head.apnsLines,
            flotilla: sheet.head.flotillaLines, to: sheet.lines)
        var unproven = LineSet()
        for line in sheet.jobs.indices where occurs(percent: 20) { unproven.append(line) }
        do { _ = try kafka.append(content, origin: nil, unproven: unproven, to: partition) } catch {
            return reportViolation("a sheet cannot be read: \(error)")
        }
        let position = JobPosition(topic: partition.topic.word, partition: lane, offset: offset)
        for (line, job) in sheet.jobs.enumerated() {
            jobs[SimulatedJobID(position: position, line: line)] = job
        }
        if occurs(percent: 40) { kafka.sheets[partition.index].append(.marker) }
    }

    /// The jobs of one sheet: its head, its lines as bytes, and the simulation's knowledge of each line.
    private struct SheetJobs {
        let head: SheetHead
        let lines: [UInt8]
        let jobs: [SimulatedJob]
    }

    /// Makes the jobs of one sheet. A sheet for a group has a line for most installations, and a sheet for a recipient
    /// has one line.
    private func makeJobs(lane: Int32, app: String) -> SheetJobs {
        let head = makeHead(app: app)
        let isForGroup = head.scope == .group
        var lines = JobLines()
        var jobs: [SimulatedJob] = []
        for installation in 0..<(isForGroup ? Self.installationCount : 1) {
            if isForGroup, occurs(percent: 30) { continue }
            let name = isForGroup ? "i\(installation)" : "i\(random.number(below: Self.installationCount))"
            let entry = head.event == .start ? "start:T" : "update:a-\(head.group!)-\(name)"
            let recipient = "\(lane)-\(name)"
            lines.append(
                token: Array("00".utf8).span, installation: Array(recipient.utf8).span,
                entry: Array(entry.utf8).span, recipient: Array("i:\(recipient)".utf8).span)
            let subject = head.event == .start ? "\(app) \(recipient)" : "\(app) \(recipient) \(entry)"
            jobs.append(
                SimulatedJob(
                    head: head, pushTarget: subject, supersedingKey: "\(head.scope) \(head.group!) \(subject)"
                ))
        }
        if jobs.isEmpty { return makeJobs(lane: lane, app: app) }
        return SheetJobs(head: head, lines: lines.bytes, jobs: jobs)
    }

    /// Makes the head of a random send. Its version is higher than all before.
    private func makeHead(app: String) -> SheetHead {
        let (startPercent, groupPercent) = kind == .overtaken ? (5, 95) : (30, 60)
        var event = PushEvent.start
        if !occurs(percent: startPercent) { event = occurs(percent: 15) ? .end : .update }
        let scope: ScopeKind = occurs(percent: groupPercent) ? .group : .recipient
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
        head.triesMax = 1 + random.number(below: 6)
        return head
    }

    /// Returns a note with the newest versions of a random group of the sound app, or nil if the group has no sheet.
    func makeNote() -> SupersededVersions? {
        let group = "g\(random.number(below: 2))"
        let heads = jobs.values.map(\.head).filter {
            $0.group == group && $0.scope == .group && $0.app == Self.soundApp
        }
        guard !heads.isEmpty else { return nil }
        let updateVersion = heads.filter { $0.event == .update }.map(\.version).max() ?? 0
        let endVersion = heads.filter { $0.event == .end }.map(\.version).max() ?? 0
        let cancelledSends = occurs(percent: 20) ? [heads[random.number(below: heads.count)].send] : []
        return SupersededVersions(
            app: Self.soundApp, group: group, updateVersion: updateVersion, endVersion: endVersion,
            cancelledSends: cancelledSends)
    }
}
