internal import Foundation
package import Insight
internal import LiveActivity

/// A judge that asks an insight process every question about a day and compares each figure with the model.
package struct DayJudge {
    package private(set) var figures = 0
    package private(set) var faults: [String] = []
    private let service: InsightService
    let model: DayModel
    let mix: DayMix
    /// The number of people in each app that are asked about, the first ones.
    private static let peopleAsked = 300

    package init(_ service: InsightService, with model: DayModel, of mix: DayMix) {
        (self.service, self.model, self.mix) = (service, model, mix)
    }

    package mutating func judge() async throws {
        for number in 0..<DayMix.sends { try await judgeSend(number) }
        for app in DayMix.apps {
            try await judgeSendList(app)
            try await judgeGroups(app)
            try await judgeCounts(app)
            try await judgeEvents(app)
            try await judgeAudit(app)
            for person in 0..<min(Self.peopleAsked, mix.people) { try await judge(person: person, app) }
        }
    }

    // MARK: Asking

    typealias Answer = [String: Any]
    private static let partialSecondsMax = 60.0

    func ask(
        _ name: InsightQuery.Kind, _ app: String, id: String? = nil, with parameters: [String: String] = [:]
    ) async throws -> Answer {
        let call = InsightQuery(
            name, app: app, id: id,
            parameters: parameters.map { InsightQuery.Parameter(name: $0.key, value: $0.value) })
        // On a busy machine the other process may not answer for a while. The answer then reports it.
        let limit = Date(timeIntervalSinceNow: Self.partialSecondsMax)
        while true {
            guard let body = await service.answer(call),
                let answer = try JSONSerialization.jsonObject(with: Data(body)) as? Answer
            else { throw JudgeProblem(description: "\(name) got no answer") }
            if answer["partial"] == nil { return answer }
            guard Date() < limit else { throw JudgeProblem(description: "\(name) is partial") }
        }
    }

    /// Returns all entries of a list, page by page.
    func all(
        _ name: InsightQuery.Kind, _ app: String, id: String? = nil, list: String,
        with parameters: [String: String]
    ) async throws -> [Answer] {
        var rows: [Answer] = []
        var cursor: String?
        repeat {
            var parameters = parameters
            parameters["cursor"] = cursor
            let page = try await ask(name, app, id: id, with: parameters)
            rows += page[list] as? [Answer] ?? []
            cursor = page["next"] as? String
        } while cursor != nil
        return rows
    }

    var range: [String: String] { ["from": "\(mix.begin)", "to": "\(mix.begin + 2 * 86_400_000)"] }

    mutating func compare<Figure: Equatable>(
        _ what: @autoclosure () -> String, _ said: Figure, to true: Figure
    ) {
        figures += 1
        if said != `true`, faults.count < 20 { faults.append("\(what()): \(said), and not \(`true`)") }
    }

    mutating func fault(_ what: String) { if faults.count < 20 { faults.append(what) } }
}

struct JudgeProblem: Error, CustomStringConvertible { let description: String }
