internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Members
internal import Sends

extension QueryHandler {
    /// The limit of a group's sends in one list of a report.
    static let versionsMax = 500
    /// Later than any time.
    private static let timeMax = Int64(1) << 52

    /// Answers with the outcomes of one send's jobs.
    func report(for call: InsightQuery, parameters: inout CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.checkAllRead()
        guard let id = call.id else { throw .unknown }
        var query = LaneQuery(.sends, app: call.app)
        query.names = [id]
        let result = try await ask(query)
        var summary = SendSummary(id: id, results: result)
        var results = [result]
        if let group = summary.progress.key?.group ?? summary.report.total?.group {
            let groupSends = try await newestSends(of: group, app: call.app, limit: Self.versionsMax)
            let next = try await nextSendTime(
                after: summary.acceptedAt, of: group, app: call.app, newest: groupSends)
            let counted = await taps(of: group, app: call.app, times: [summary.acceptedAt, next])
            // Taps that could not be counted in time are left out.
            if counted.limit == nil { summary.opened = counted.taps.first ?? 0 }
            results += [groupSends, counted]
            var summaries = [summary]
            results += try await addWaitingPhones(to: &summaries, app: call.app)
            summary = summaries[0]
        }
        return objectResponse(from: results) { summary.writeReport(to: &$0) }
    }

    /// Answers with the time at which a send was accepted, if any lane has a record of it.
    func locate(for call: InsightQuery, parameters: CallParameters) async throws(CallProblem) -> HTTPResponse
    {
        try parameters.checkAllRead()
        guard let id = call.id else { throw .unknown }
        let result = try await sendRecords(of: [id], app: call.app)
        let acceptedAt = SendSummary(id: id, results: result).acceptedAt
        return objectResponse(from: [result]) {
            $0.field("acceptedAt", acceptedAt > 0 ? acceptedAt : nil)
        }
    }

    /// Answers with a list of sends by their time.
    func sends(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.sendList, app: call.app)
        query.group = try parameters.text("group")
        (query.from, query.to) = try parameters.range(
            daysMax: 7, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        let filter = try SendFilter(reading: &parameters)
        let limit = try parameters.limit()
        query.after = try parameters.cursor()
        try parameters.checkAllRead()
        let page = try await summaries(for: query, limit: limit, matching: filter)
        return objectResponse(from: page.results) { writer in
            writer.list("items", of: page.lines.map(\.summary)) { $0.write(to: &$1) }
            writer.field("next", page.next?.cursor)
        }
    }

    /// Answers with all versions of one group.
    func timeline(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let limit = try parameters.limit()
        let after = try parameters.cursor()
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        var query = LaneQuery(.sendList, app: call.app)
        query.group = id
        query.after = after
        let page = try await summaries(for: query, limit: limit)
        if page.lines.isEmpty, after == nil { throw emptyResultProblem(for: page.results) }
        return objectResponse(from: page.results) { writer in
            writer.field("groupId", id)
            writer.list("items", of: page.lines.map(\.summary)) { $0.write(to: &$1) }
            writer.field("next", page.next?.cursor)
        }
    }

    /// The pages that a filtered list reads for one answer. If fewer sends match, the answer has a cursor behind them.
    private static let filteredPagesMax = 5

    /// Sends of a list with their outcomes, and the results of all queries for them.
    struct SendPage {
        /// A send with its position in the list.
        struct Line {
            let position: ListPosition
            let summary: SendSummary
        }

        var lines: [Line] = []
        var next: ListPosition?
        var results: [QueryResult] = []
    }

    /// Returns the listed sends that match a filter.
    private func summaries(
        for query: LaneQuery, limit: Int, matching filter: SendFilter
    ) async throws(CallProblem) -> SendPage {
        if filter.isEmpty { return try await summaries(for: query, limit: limit) }
        var query = query
        var found = SendPage()
        for _ in 0..<Self.filteredPagesMax {
            let page = try await summaries(for: query, limit: limit)
            found.results += page.results
            found.next = page.next
            for line in page.lines where filter.matches(line.summary) {
                found.lines.append(line)
                if found.lines.count == limit {
                    let isLastOfPage = line.position == page.lines.last?.position
                    found.next = isLastOfPage ? page.next : line.position
                    return found
                }
            }
            guard let next = page.next else { break }
            query.after = next
        }
        return found
    }

    /// Returns the listed sends with their outcomes. In the list of one group they also have their taps: those
    /// from a send to the next newer one.
    func summaries(for query: LaneQuery, limit: Int) async throws(CallProblem) -> SendPage {
        var query = query
        // The extra entry shows whether the list continues.
        query.limit = limit + 1
        let listed = try await ask(query)
        let (page, next) = ListOrder().firstPage(
            of: Self.removingDuplicates(from: listed.sends), cuts: listed.cuts, limit: limit)
        let result = try await sendRecords(of: page.map(\.value), app: query.app)
        var summaries = page.map { SendSummary(id: $0.value, results: result) }
        var results = [listed, result]
        if let group = query.group, !summaries.isEmpty {
            // On a later page, the taps of the newest send end at the last send of the page before.
            let newestEnd = query.after?.at ?? Self.timeMax
            let counted = await taps(
                of: group, app: query.app, times: [newestEnd] + page.map(\.position.at),
                isNewestFirst: true)
            for index in summaries.indices where counted.limit == nil && index < counted.taps.count {
                summaries[index].opened = counted.taps[index]
            }
            results.append(counted)
        }
        results += try await addWaitingPhones(to: &summaries, app: query.app)
        let lines = zip(page, summaries).map { SendPage.Line(position: $0.position, summary: $1) }
        return SendPage(lines: lines, next: next, results: results)
    }

    /// Lists the newest sends of a group.
    func newestSends(
        of group: String, app: String, limit: Int
    ) async throws(CallProblem) -> QueryResult {
        var query = LaneQuery(.sendList, app: app)
        query.group = group
        query.limit = limit
        return try await ask(query)
    }

    /// Returns the records of sends, in several queries, so that no answer between processes gets too large.
    func sendRecords(of sends: [String], app: String) async throws(CallProblem) -> QueryResult {
        var query = LaneQuery(.sends, app: app)
        query.names = Array(sends.prefix(LaneQuery.sendsMax))
        var result = try await ask(query)
        var rest = sends.dropFirst(LaneQuery.sendsMax)
        while !rest.isEmpty {
            query.names = Array(rest.prefix(LaneQuery.sendsMax))
            rest = rest.dropFirst(LaneQuery.sendsMax)
            result.addFurtherSends(try await ask(query))
        }
        return result
    }

    /// Returns the time of the group's next send after a time. The taps until then belong to the send before it.
    private func nextSendTime(
        after acceptedAt: Int64, of group: String, app: String, newest: QueryResult
    ) async throws(CallProblem) -> Int64 {
        let laterTimes = newest.sends.map(\.position.at).filter { $0 > acceptedAt }
        guard let earliest = laterTimes.min() else { return Self.timeMax }
        // Each lane lists its newest sends, so a list below the limit is complete.
        if newest.sends.count < Self.versionsMax { return earliest }
        return try await NextSendSearch.firstTime(
            after: acceptedAt, atMost: earliest, limit: Self.versionsMax
        ) { range async throws(CallProblem) in
            var query = LaneQuery(.sendList, app: app)
            query.group = group
            (query.from, query.to) = (range.lowerBound, range.upperBound)
            query.limit = Self.versionsMax
            return try await ask(query).sends.map(\.position.at)
        }
    }

    /// Counts the taps between neighboring times.
    ///
    /// - Parameter isNewestFirst: Whether `times` start with the newest. The counts have the same order.
    private func taps(
        of group: String, app: String, times: [Int64], isNewestFirst: Bool = false
    ) async -> QueryResult {
        var query = LaneQuery(.taps, app: app)
        query.group = group
        query.times = isNewestFirst ? times.reversed() : times
        var result = await fanOut.run(query)
        if isNewestFirst { result.taps.reverse() }
        return result
    }

    /// Keeps each send once, at its first acceptance. A repeated request lists a send more than once.
    private static func removingDuplicates(from sends: [ListEntry<String>]) -> [ListEntry<String>] {
        var first: [String: ListEntry<String>] = [:]
        for send in sends {
            if let known = first[send.value], known.position.at <= send.position.at { continue }
            first[send.value] = send
        }
        return Array(first.values)
    }
}
