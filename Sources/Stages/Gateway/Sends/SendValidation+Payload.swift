internal import CatalogRecords
internal import Payloads
internal import Telemetry

extension SendValidation {
    /// Checks the payload and returns the size of the APNs body in bytes. Without a type it checks only the rules that
    /// hold for all types.
    mutating func checkPayload(for type: ActivityType?) -> Int {
        let (content, group) = (checkedContent, groupAttribute(for: type))
        for violation in rules(for: type).violations(in: content, group: group) {
            // The message follows the field's name, and the payload as a whole has none.
            let message = violation.field == .payload ? violation.description : violation.message
            add(code: violation.rule.rawValue, at: fields.name(of: violation.field), message: message)
        }
        return PayloadBuilder.body(for: content, timestamp: dueSeconds, group: group).count
    }

    /// Returns warnings about content that APNs and phones accept, but that the caller has probably not intended.
    func warnings(for type: ActivityType?) -> [RequestProblem] {
        let warnings = rules(for: type).warnings(in: checkedContent, group: groupAttribute(for: type))
        return warnings.map {
            RequestProblem(code: $0.rule.rawValue, at: fields.name(of: $0.field), message: $0.message)
        }
    }

    /// The content as the payload rules check it. The group attribute is a parameter of the rules.
    private var checkedContent: PushContent {
        var content = draft.content
        if event == .start { content.attributesType = draft.attributesType }
        return content
    }

    private func rules(for type: ActivityType?) -> PayloadRules {
        if let type { PayloadRules(now: dueSeconds, type: type) } else { PayloadRules(now: dueSeconds) }
    }
}
