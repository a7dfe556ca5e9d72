internal import ContentSchemas
internal import JSON

// Predictions of how phones decode the content: violations by the activity type's schema, and warnings.

extension PayloadRules {
    /// Returns warnings about content that phones accept but probably misread. Examples are a date in another
    /// unit, a name that is nearly right, or a time that has passed. The content may be sent.
    package func warnings(in content: PushContent, group: GroupAttribute? = nil) -> [PayloadViolation] {
        dateWarnings(in: content)
            + schemaViolations(in: content, group: group).filter { $0.rule == .doubtful }
    }

    /// Returns warnings about dates that have passed, are too late or are in another unit.
    private func dateWarnings(in content: PushContent) -> [PayloadViolation] {
        var warnings: [PayloadViolation] = []
        func addWarning(on field: PayloadViolation.Field, message: String) {
            warnings.append(PayloadViolation(field: field, rule: .doubtful, message: message))
        }
        func addUnitWarning(on field: PayloadViolation.Field) {
            addWarning(
                on: field,
                message:
                    "lies long in the past, so phones treat it as now; give seconds since 1970, not since 2001, or 0"
            )
        }
        // A date of 0 means "now" on purpose.
        if let date = content.staleDate, date != 0 {
            if date < PayloadRules.secondsMin {
                addUnitWarning(on: .staleDate)
            } else if date <= now {
                addWarning(
                    on: .staleDate,
                    message:
                        "has passed, so the new state is outdated at once; give the time until which it is valid"
                )
            }
        }
        // A `dismissal-date` that has passed is also on purpose: the activity leaves the Lock Screen at once.
        if let date = content.dismissalDate, date != 0 {
            if date < PayloadRules.secondsMin {
                addUnitWarning(on: .dismissalDate)
            } else if date > now + PayloadRules.dismissalSecondsMax {
                addWarning(
                    on: .dismissalDate,
                    message:
                        "is more than 4 hours ahead; the system removes an ended activity after 4 hours at the latest"
                )
            }
        }
        return warnings
    }

    /// Returns the mismatches between the content and the activity type's schemas: with the rule
    /// `doesNotDecode` if phones cannot decode the content, else with `doubtful`.
    func schemaViolations(in content: PushContent, group: GroupAttribute?) -> [PayloadViolation] {
        var violations: [PayloadViolation] = []
        func check(_ value: RawJSON?, against schema: ContentSchema?, field: PayloadViolation.Field) {
            guard let value, let schema, value.isObject else { return }
            let findings = schema.findings(in: value, now: now)
            violations += (findings.failures + findings.warnings).map { finding in
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
        return violations
    }
}
