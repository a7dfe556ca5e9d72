internal import CatalogRecords
internal import Identifiers
internal import Store

// The test of one token's row. Two profiles count: the profile of the installation, and the profile that the
// backend set for all installations of the user. Anyone with the app's report key can report attributes and tags. So an
// attribute or the tags that the backend has set win. The fields are facts about the phone, which only the phone knows.

extension SegmentProgram {
    /// Whether the rule selects the row. A rule without nodes selects every row.
    ///
    /// - Parameters:
    ///   - user: The backend's profile of the user (`ProfileValue`), or empty.
    ///   - installation: The profile of the installation, or empty.
    ///   - os: The version in the token's row, for a phone without a profile.
    func matches(user: Span<UInt8>, installation: Span<UInt8>, os: OSVersion?) -> Bool {
        nodes.isEmpty || matchesNode(at: 0, user: user, installation: installation, os: os)
    }

    private func matchesNode(
        at index: Int, user: Span<UInt8>, installation: Span<UInt8>, os: OSVersion?
    ) -> Bool {
        let node = nodes[index]
        switch node.operation {
        case .and, .or:
            // The first child that is true decides an `or`, and the first that is false an `and`.
            let isOr = if case .or = node.operation { true } else { false }
            var child = index + 1
            while child < node.end {
                if matchesNode(at: child, user: user, installation: installation, os: os) == isOr {
                    return isOr
                }
                child = nodes[child].end
            }
            return !isOr
        case .not: return !matchesNode(at: index + 1, user: user, installation: installation, os: os)
        case .tag:
            let tag = constants.span.extracting(node.text)
            if !user.isEmpty, ProfileValue.hasSetTags(in: user) { return ProfileValue.hasTag(tag, in: user) }
            return !installation.isEmpty && ProfileValue.hasTag(tag, in: installation)
        case .text, .integer, .number, .boolean: return false
        case .exists, .isIn, .compares:
            guard let field = node.field else {
                return matchesAttribute(at: index, user: user, installation: installation)
            }
            return matchesField(field, at: index, user: user, installation: installation, os: os)
        }
    }

    // MARK: Attributes

    private func matchesAttribute(
        at index: Int, user: Span<UInt8>, installation: Span<UInt8>
    ) -> Bool {
        let name = constants.span.extracting(nodes[index].text)
        if !user.isEmpty, let offset = ProfileValue.attributeOffset(of: name, in: user) {
            return testAttribute(at: index, profile: user, offset: offset)
        }
        if !installation.isEmpty, let offset = ProfileValue.attributeOffset(of: name, in: installation) {
            return testAttribute(at: index, profile: installation, offset: offset)
        }
        return matchesMissingValue(at: index)
    }

    private func testAttribute(at index: Int, profile: Span<UInt8>, offset: Int) -> Bool {
        test(at: index) { valueIndex in order(of: profile, at: offset, to: nodes[valueIndex]) }
    }

    /// Returns the order of an attribute to a value of the rule. Returns nil if they cannot be compared, and
    /// for unequal Booleans, which have no order.
    ///
    /// - Parameter start: The offset of the attribute's kind.
    private func order(of profile: Span<UInt8>, at start: Int, to value: Node) -> Int? {
        var offset = start + 1
        switch (profile[start], value.operation) {
        case (ProfileValue.ValueKind.no, .boolean): return value.bits == 0 ? 0 : nil
        case (ProfileValue.ValueKind.yes, .boolean): return value.bits == 1 ? 0 : nil
        case (ProfileValue.ValueKind.text, .text):
            return profile.readCountedBytes(at: &offset).compare(to: constants.span.extracting(value.text))
        case (ProfileValue.ValueKind.integer, .integer):
            return Self.compare(Self.integer(in: profile, at: offset), with: value.bits)
        case (ProfileValue.ValueKind.integer, .number):
            return Self.compare(Self.integer(in: profile, at: offset), with: value.double)
        case (ProfileValue.ValueKind.number, .integer):
            return -Self.compare(value.bits, with: Self.double(in: profile, at: offset))
        case (ProfileValue.ValueKind.number, .number):
            return Self.compare(Self.double(in: profile, at: offset), with: value.double)
        default: return nil
        }
    }

    private static func integer(in profile: Span<UInt8>, at offset: Int) -> Int64 {
        profile.number(at: offset, byteCount: ProfileValue.numberBytes)
    }

    private static func double(in profile: Span<UInt8>, at offset: Int) -> Double {
        Double(bitPattern: UInt64(bitPattern: integer(in: profile, at: offset)))
    }

    /// Returns -1, 0 or 1.
    private static func compare<N: Comparable>(_ a: N, with b: N) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    /// Compares exactly, without rounding a large integer.
    private static func compare(_ a: Int64, with b: Double) -> Int {
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let floor = b.rounded(.down)
        let order = compare(a, with: Int64(floor))
        return order == 0 && floor < b ? -1 : order
    }

    // MARK: Fields

    private func matchesField(
        _ field: SegmentRule.Field, at index: Int, user: Span<UInt8>, installation: Span<UInt8>,
        os: OSVersion?
    ) -> Bool {
        if !installation.isEmpty, let text = ProfileValue.text(of: field.text, in: installation) {
            return testField(field, at: index, text: text)
        }
        if !user.isEmpty, let text = ProfileValue.text(of: field.text, in: user) {
            return testField(field, at: index, text: text)
        }
        guard field == .os, let os else { return matchesMissingValue(at: index) }
        return test(at: index) { valueIndex in
            VersionText.order(
                of: [os.major, os.minor, os.patch], to: constants.span.extracting(nodes[valueIndex].text))
        }
    }

    private func testField(_ field: SegmentRule.Field, at index: Int, text: Span<UInt8>) -> Bool {
        test(at: index) { valueIndex in
            let value = constants.span.extracting(nodes[valueIndex].text)
            return field.isVersion ? VersionText.order(of: text, to: value) : text.compare(to: value)
        }
    }

    // MARK: Tests

    private func matchesMissingValue(at index: Int) -> Bool {
        if case .exists = nodes[index].operation { nodes[index].bits == 0 } else { false }
    }

    /// Applies a test to a value of a profile.
    ///
    /// - Parameter order: Returns the order of the profile's value to the value at a node, or nil if they
    ///   cannot be compared.
    private func test(at index: Int, order: (_ valueIndex: Int) -> Int?) -> Bool {
        let node = nodes[index]
        switch node.operation {
        case .exists: return node.bits == 1
        case .isIn:
            for valueIndex in index + 1..<node.end where order(valueIndex) == 0 { return true }
            return false
        case .compares(let comparison):
            guard let order = order(index + 1) else { return false }
            switch comparison {
            case .above: return order > 0
            case .atLeast: return order >= 0
            case .below: return order < 0
            case .atMost: return order <= 0
            }
        default: return false
        }
    }
}

extension SegmentProgram.Node {
    /// The value of a `number`.
    fileprivate var double: Double { Double(bitPattern: UInt64(bitPattern: bits)) }
}

extension SegmentRule.Field {
    fileprivate var text: ProfileValue.TextField {
        switch self {
        case .os: .os
        case .appBuild: .appBuild
        case .locale: .locale
        case .timeZone: .timeZone
        }
    }
}
