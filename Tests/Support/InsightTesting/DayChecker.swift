internal import Foundation
package import Insight
internal import Members
internal import ProcessTesting

/// A check of an insight process. `checkAll` asks all questions about a day and compares each figure of the answers
/// with the model. A difference is one of the `faults`.
package struct DayChecker {
    /// The checker asks about at most this number of people of each app, the first ones.
    static let peopleCheckedMax = 300
    /// The number of faults that are kept.
    private static let faultsMax = 20

    /// The number of compared figures.
    package private(set) var figureCount = 0
    /// The differences as texts. It is empty if every figure is equal.
    package private(set) var faults: [String] = []
    private let service: InsightService
    let model: DayModel
    /// The generator of the day, for its ids and times.
    let day: DayGenerator

    package init(service: InsightService, model: DayModel, day: DayGenerator) {
        (self.service, self.model, self.day) = (service, model, day)
    }

    package mutating func checkAll() async throws {
        for number in 0..<DayGenerator.sendCount { try await checkSend(number: number) }
        for app in DayGenerator.apps {
            try await checkSendList(of: app)
            try await checkGroups(of: app)
            try await checkCounts(of: app)
            try await checkEvents(of: app)
            try await checkAudit(of: app)
            try await checkCountsByUser(of: app)
            try await checkUsers(of: app)
            try await checkInstallations(of: app)
            for person in 0..<min(Self.peopleCheckedMax, day.peopleCount) {
                try await check(person: person, of: app)
            }
        }
    }

    // MARK: Asking

    typealias JSONAnswer = [String: Any]
    /// The limit of the time in which answers stay incomplete.
    private static let partialSecondsMax = 60.0

    /// Returns the complete answer to a question.
    func ask(
        _ kind: InsightQuery.Kind, app: String, id: String? = nil, parameters: [String: String] = [:]
    ) async throws -> JSONAnswer {
        let query = InsightQuery(
            kind, app: app, id: id,
            parameters: parameters.map { InsightQuery.Parameter(name: $0.key, value: $0.value) })
        // On a busy machine the other process may not answer for a while. Then the answer has the field `partial`.
        var deadline = PollingDeadline(seconds: Self.partialSecondsMax)
        while true {
            guard let body = await service.answer(query),
                let answer = try JSONSerialization.jsonObject(with: Data(body)) as? JSONAnswer
            else { throw DayCheckFailure(description: "\(kind) got no answer") }
            if answer["partial"] == nil { return answer }
            guard !deadline.hasPassed() else { throw DayCheckFailure(description: "\(kind) is partial") }
        }
    }

    /// Returns all entries of a list. It asks page by page, and `limit` in the parameters is the size of a page.
    func askForAll(
        _ kind: InsightQuery.Kind, app: String, id: String? = nil, list: String,
        parameters: [String: String]
    ) async throws -> [JSONAnswer] {
        var rows: [JSONAnswer] = []
        var cursor: String?
        repeat {
            var parameters = parameters
            parameters["cursor"] = cursor
            let page = try await ask(kind, app: app, id: id, parameters: parameters)
            rows += page[list] as? [JSONAnswer] ?? []
            cursor = page["next"] as? String
        } while cursor != nil
        return rows
    }

    /// The parameters for the two days in which all events lie.
    var dayRange: [String: String] {
        let twoDaysMilliseconds: Int64 = 2 * 86_400_000
        return ["from": "\(day.dayStart)", "to": "\(day.dayStart + twoDaysMilliseconds)"]
    }

    // MARK: Comparing

    /// Compares a figure of an answer with the model's, and records a fault if they differ.
    mutating func compare<Figure: Equatable>(
        _ name: @autoclosure () -> String, found actual: Figure, to expected: Figure
    ) {
        figureCount += 1
        if actual != expected, faults.count < Self.faultsMax {
            faults.append("\(name()): \(actual), and not \(expected)")
        }
    }
}

/// A question that did not get a complete answer.
struct DayCheckFailure: Error, CustomStringConvertible { let description: String }
