internal import CatalogRecords
internal import Sends

extension AudienceCombination {
    /// Returns one rule for all conditions. Returns nil if the audience is empty: if none of its segments exists any
    /// more, or if an excluded segment does not exist any more. Without the rule of an excluded segment, a push could
    /// reach recipients that the caller has excluded.
    ///
    /// - Parameter findSegment: Returns the rule of a segment of the app, or nil if there is no such segment.
    func rule(findingSegments findSegment: (String) -> SegmentRule?) -> SegmentRule? {
        var conditions: [SegmentRule] = []
        if !segments.isEmpty {
            let rules = segments.compactMap(findSegment)
            if rules.isEmpty { return nil }
            conditions.append(.or(rules))
        }
        if !tags.isEmpty { conditions.append(.or(tags.map(SegmentRule.tag))) }
        let excludedRules = excludedSegments.compactMap(findSegment)
        guard excludedRules.count == excludedSegments.count else { return nil }
        let exclusions = excludedRules + excludedTags.map(SegmentRule.tag)
        if !exclusions.isEmpty { conditions.append(.not(.or(exclusions))) }
        return .and(conditions)
    }
}
