internal import HTTPServer
internal import JSON
internal import LiveActivity

extension Answering {
    /// The number of a group's sends that a tap count distinguishes.
    static let versionsMax = 500

    /// Returns the report of one send's jobs.
    func report(_ call: InsightCall, _ parameters: inout CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.end()
        guard let id = call.id else { throw .unknown }
        var question = Question(.sends, app: call.app)
        question.names = [id]
        let found = await asking.ask(question)
        var line = SendLine(id, found)
        var all = [found]
        if let group = line.progress.key?.group ?? line.report.whole?.group {
            let listed = await sends(of: group, app: call.app, limit: Self.versionsMax)
            let taps = await taps(of: group, app: call.app, bounds(line.acceptedAt, among: listed))
            line.opened = taps.taps.first ?? 0
            all += [listed, taps]
        }
        return object(all) { line.writeReport(to: &$0) }
    }

    func sends(
        _ call: InsightCall, _ parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = Question(.sendList, app: call.app)
        question.group = try parameters.text("group")
        (question.from, question.to) = try parameters.range(
            days: 7, usually: CallParameters.dayMilliseconds, now: now)
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.end()
        let (lines, next, all) = await lines(question, limit)
        return object(all) { writer in
            writer.list("sends", of: lines) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    func timeline(
        _ call: InsightCall, _ parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let limit = try parameters.limit()
        let after = try parameters.cursor()
        try parameters.end()
        guard let id = call.id, Name.problem(id) == nil else { throw .unknown }
        var question = Question(.sendList, app: call.app)
        question.group = id
        question.limit = limit + 1
        question.after = after
        let (lines, next, all) = await lines(question, limit)
        if lines.isEmpty, after == nil { throw nothing(all) }
        return object(all) { writer in
            writer.field("groupId", id)
            writer.list("versions", of: lines) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Returns sends with their reports. In the list of one group they also have their taps.
    func lines(
        _ question: Question, _ limit: Int
    ) async -> (lines: [SendLine], next: ListPlace?, all: [Findings]) {
        let listed = await asking.ask(question)
        let (page, next) = Self.page(Self.once(listed.sends), limit)
        var reports = Question(.sends, app: question.app)
        reports.names = page.map(\.value)
        let found = await asking.ask(reports)
        var lines = page.map { SendLine($0.value, found) }
        var all = [listed, found]
        if let group = question.group, !lines.isEmpty {
            let newer = question.after?.at ?? Int64(1) << 52
            let taps = await taps(
                of: group, app: question.app, [newer] + page.map(\.place.at), isFalling: true)
            for index in lines.indices where index < taps.taps.count {
                lines[index].opened = taps.taps[index]
            }
            all.append(taps)
        }
        return (lines, next, all)
    }

    func sends(of group: String, app: String, limit: Int) async -> Findings {
        var question = Question(.sendList, app: app)
        question.group = group
        question.limit = limit
        return await asking.ask(question)
    }

    /// Returns the times from a send to the next send of the group.
    private func bounds(_ acceptedAt: Int64, among listed: Findings) -> [Int64] {
        let next = listed.sends.map(\.place.at).filter { $0 > acceptedAt }.min()
        return [acceptedAt, next ?? Int64(1) << 52]
    }

    /// - Parameter isFalling: Whether `times`, and so the counts, start with the newest.
    private func taps(
        of group: String, app: String, _ times: [Int64], isFalling: Bool = false
    ) async -> Findings {
        var question = Question(.taps, app: app)
        question.group = group
        question.times = isFalling ? times.reversed() : times
        var found = await asking.ask(question)
        if isFalling { found.taps.reverse() }
        return found
    }

    /// Keeps each send once, at its first acceptance. A repeated request lists a send more than once.
    private static func once(_ sends: [Listed<String>]) -> [Listed<String>] {
        var first: [String: Listed<String>] = [:]
        for send in sends where first[send.value].map({ send.place.at < $0.place.at }) ?? true {
            first[send.value] = send
        }
        return Array(first.values)
    }
}
