internal import Foundation
package import Insight
internal import Members

/// A judge that asks an insight process every question about a day and compares each figure with the model.
package struct DayChecker {
    package private(set) var figureCount = 0
    package private(set) var faults: [String] = []
    private let service: InsightService
    let model: DayModel
    let day: DayGenerator
    /// The number of people in each app that are asked about, the first ones.
    private static let peopleCheckedMax = 300

    package init(service: InsightService, model: DayModel, day mix: DayGenerator) {
        (self.service, self.model, self.day) = (service, model, mix)
    }

    package mutating func checkAll() async throws {
        for number in 0..<DayGenerator.sendCount { try await checkSend(number: number) }
        for app in DayGenerator.apps {
            try await checkSendList(of: app)
            try await checkGroups(of: app)
            try await checkCounts(of: app)
            try await checkEvents(of: app)
            try await checkAudit(of: app)
            for person in 0..<min(Self.peopleCheckedMax, day.peopleCount) {
                try await check(person: person, of: app)
            }
        }
    }

    // MARK: Asking

    typealias JSONAnswer = [String: Any]
    private static let partialSecondsMax = 60.0

    func ask(
        _ name: InsightQuery.Kind, app: String, id: String? = nil, parameters: [String: String] = [:]
    ) async throws -> JSONAnswer {
        let call = InsightQuery(
            name, app: app, id: id,
            parameters: parameters.map { InsightQuery.Parameter(name: $0.key, value: $0.value) })
        // On a busy machine the other process may not answer for a while. The answer then reports it.
        let limit = Date(timeIntervalSinceNow: Self.partialSecondsMax)
        while true {
            guard let body = await service.answer(call),
                let answer = try JSONSerialization.jsonObject(with: Data(body)) as? JSONAnswer
            else { throw DayCheckFailure(description: "\(name) got no answer") }
            if answer["partial"] == nil { return answer }
            guard Date() < limit else { throw DayCheckFailure(description: "\(name) is partial") }
        }
    }

    /// Returns all entries of a list, page by page.
    func askForAll(
        _ name: InsightQuery.Kind, app: String, id: String? = nil, list: String,
        parameters: [String: String]
    ) async throws -> [JSONAnswer] {
        var rows: [JSONAnswer] = []
        var cursor: String?
        repeat {
            var parameters = parameters
            parameters["cursor"] = cursor
            let page = try await ask(name, app: app, id: id, parameters: parameters)
            rows += page[list] as? [JSONAnswer] ?? []
            cursor = page["next"] as? String
        } while cursor != nil
        return rows
    }

    var dayRange: [String: String] { ["from": "\(day.dayStart)", "to": "\(day.dayStart + 2 * 86_400_000)"] }

    mutating func compare<Figure: Equatable>(
        _ what: @autoclosure () -> String, found said: Figure, to true: Figure
    ) {
        figureCount += 1
        if said != `true`, faults.count < 20 { faults.append("\(what()): \(said), and not \(`true`)") }
    }

    mutating func recordFault(_ what: String) { if faults.count < 20 { faults.append(what) } }
}

struct DayCheckFailure: Error, CustomStringConvertible { let description: String }
