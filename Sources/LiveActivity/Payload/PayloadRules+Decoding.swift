// What the phones' own decoder will say, where the activity type has a schema.

extension PayloadRules {
    /// What phones will take, but surely not as it was meant: a date in another unit, a name that is
    /// nearly right. The content may be sent; somebody should be told.
    package func warnings(in content: PushContent, group: GroupAttribute? = nil) -> [PayloadViolation] {
        decoding(of: content, group).filter { $0.rule == .doubtful }
    }

    func decoding(of content: PushContent, _ group: GroupAttribute?) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func check(_ value: RawJSON?, _ schema: ContentSchema?, _ field: PayloadViolation.Field) {
            guard let value, let schema, value.isObject else { return }
            let findings = schema.findings(in: value, now: now)
            found += (findings.failures + findings.doubts).map { finding in
                PayloadViolation(
                    field: field, rule: finding.fails ? .doesNotDecode : .doubtful,
                    message: finding.path.isEmpty ? finding.message : "at \(finding)")
            }
        }
        check(content.contentState, contentStateSchema, .contentState)
        if content.event == .start {
            check(PayloadBuilder.attributes(of: content, group), attributesSchema, .attributes)
        }
        return found
    }
}
