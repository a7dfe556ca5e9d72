internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Members
internal import Sends

extension QueryHandler {
    /// The number of a group's sends that a tap count distinguishes.
    static let versionsMax = 500

    /// Returns the report of one send's jobs.
    func report(for call: InsightQuery, parameters: inout CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.checkAllRead()
        guard let id = call.id else { throw .unknown }
        var question = LaneQuery(.sends, app: call.app)
        question.names = [id]
        let found = await fanOut.run(question)
        var line = SendSummary(id: id, results: found)
        var all = [found]
        if let group = line.progress.key?.group ?? line.report.total?.group {
            let listed = await sends(of: group, app: call.app, limit: Self.versionsMax)
            let taps = await taps(
                of: group, app: call.app, times: bounds(after: line.acceptedAt, among: listed))
            line.opened = taps.taps.first ?? 0
            all += [listed, taps]
        }
        return object(from: all) { line.writeReport(to: &$0) }
    }

    func sends(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = LaneQuery(.sendList, app: call.app)
        question.group = try parameters.text("group")
        (question.from, question.to) = try parameters.range(
            daysMax: 7, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.checkAllRead()
        let (lines, next, all) = await lines(for: question, limit: limit)
        return object(from: all) { writer in
            writer.list("sends", of: lines) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    func timeline(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let limit = try parameters.limit()
        let after = try parameters.cursor()
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        var question = LaneQuery(.sendList, app: call.app)
        question.group = id
        question.limit = limit + 1
        question.after = after
        let (lines, next, all) = await lines(for: question, limit: limit)
        if lines.isEmpty, after == nil { throw emptyResultProblem(for: all) }
        return object(from: all) { writer in
            writer.field("groupId", id)
            writer.list("versions", of: lines) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Returns sends with their reports. In the list of one group they also have their taps.
    func lines(
        for question: LaneQuery, limit: Int
    ) async -> (lines: [SendSummary], next: ListPosition?, all: [QueryResult]) {
        let listed = await fanOut.run(question)
        let (page, next) = Self.page(Self.removingDuplicates(from: listed.sends), limit: limit)
        var reports = LaneQuery(.sends, app: question.app)
        reports.names = page.map(\.value)
        let found = await fanOut.run(reports)
        var lines = page.map { SendSummary(id: $0.value, results: found) }
        var all = [listed, found]
        if let group = question.group, !lines.isEmpty {
            let newer = question.after?.at ?? Int64(1) << 52
            let taps = await taps(
                of: group, app: question.app, times: [newer] + page.map(\.position.at), isFalling: true)
            for index in lines.indices where index < taps.taps.count {
                lines[index].opened = taps.taps[index]
            }
            all.append(taps)
        }
        return (lines, next, all)
    }

    func sends(of group: String, app: String, limit: Int) async -> QueryResult {
        var question = LaneQuery(.sendList, app: app)
        question.group = group
        question.limit = limit
        return await fanOut.run(question)
    }

    /// Returns the times from a send to the next send of the group.
    private func bounds(after acceptedAt: Int64, among listed: QueryResult) -> [Int64] {
        let next = listed.sends.map(\.position.at).filter { $0 > acceptedAt }.min()
        return [acceptedAt, next ?? Int64(1) << 52]
    }

    /// - Parameter isFalling: Whether `times`, and so the counts, start with the newest.
    private func taps(
        of group: String, app: String, times: [Int64], isFalling: Bool = false
    ) async -> QueryResult {
        var question = LaneQuery(.taps, app: app)
        question.group = group
        question.times = isFalling ? times.reversed() : times
        var found = await fanOut.run(question)
        if isFalling { found.taps.reverse() }
        return found
    }

    /// Keeps each send once, at its first acceptance. A repeated request lists a send more than once.
    private static func removingDuplicates(from sends: [ListEntry<String>]) -> [ListEntry<String>] {
        var first: [String: ListEntry<String>] = [:]
        for send in sends where first[send.value].map({ send.position.at < $0.position.at }) ?? true {
            first[send.value] = send
        }
        return Array(first.values)
    }
}
