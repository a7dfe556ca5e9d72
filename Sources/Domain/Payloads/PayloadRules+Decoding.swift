internal import ContentSchemas
internal import JSON

// Checks with the activity type's schema, which predict how phones decode the content.

extension PayloadRules {
    /// Returns doubts about content that phones accept but probably misread. Examples are a date in another
    /// unit, a name that is nearly right, or a time that has passed. The content may be sent, but its sender
    /// should see the warning.
    package func warnings(in content: PushContent, group: GroupAttribute? = nil) -> [PayloadViolation] {
        dateWarnings(in: content)
            + schemaViolations(in: content, group: group).filter { $0.rule == .doubtful }
    }

    /// A date of 0 means "now" on purpose, and so does a `dismissal-date` in the past.
    private func dateWarnings(in content: PushContent) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func addWarning(on field: PayloadViolation.Field, message: String) {
            found.append(PayloadViolation(field: field, rule: .doubtful, message: message))
        }
        func isPlausible(_ date: Int64, in field: PayloadViolation.Field) -> Bool {
            if date == 0 || date >= PayloadRules.secondsMin { return true }
            addWarning(
                on: field,
                message:
                    "lies long in the past, so phones treat it as now; give seconds since 1970, not since 2001, or 0"
            )
            return false
        }
        if let date = content.staleDate, isPlausible(date, in: .staleDate), date != 0, date <= now {
            addWarning(
                on: .staleDate,
                message:
                    "has passed, so the new state is outdated at once; give the time until which it is valid")
        }
        if let date = content.dismissalDate { _ = isPlausible(date, in: .dismissalDate) }
        return found
    }

    func schemaViolations(in content: PushContent, group: GroupAttribute?) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func check(_ value: RawJSON?, against schema: ContentSchema?, field: PayloadViolation.Field) {
            guard let value, let schema, value.isObject else { return }
            let findings = schema.findings(in: value, now: now)
            found += (findings.failures + findings.warnings).map { finding in
                PayloadViolation(
                    field: field, rule: finding.fails ? .doesNotDecode : .doubtful,
                    message: finding.path.isEmpty ? finding.message : "at \(finding)")
            }
        }
        check(content.contentState, against: contentStateSchema, field: .contentState)
        if content.event == .start {
            check(
                PayloadBuilder.attributes(of: content, group: group), against: attributesSchema,
                field: .attributes)
        }
        return found
    }
}
