package import Identifiers
package import TokenSealing

/// Sealing of a report's token in `reports` and `dead-letters`. The writer of the report seals the token, and
/// ingest opens it.
///
/// The token is sealed for its registry entry, so that ingest can copy the sealed text unchanged into the row.
extension TokenSeal {
    /// Seals the report's token if there are keys and the token is valid.
    package func seal(tokenOf report: inout Report) {
        guard isSealing, let digits = report.token, let token = PushToken(hex: digits) else { return }
        report.token = seal(token, app: report.app, entry: report.tokenEntry.text)
    }

    /// Returns the report's token, or nil if it has none. The token may be unsealed: from a service without
    /// keys, or from before the installation had keys.
    package func open(tokenOf report: Report) throws(Failure) -> PushToken? {
        guard let stored = report.token else { return nil }
        return try open(stored, app: report.app, entry: report.tokenEntry.text)
    }
}

extension Report {
    /// The registry entry of the report's token.
    package var tokenEntry: RegistryKey.Entry {
        if kind != .startToken, let activity { return .update(activity: activity) }
        return .start(type: attributesType)
    }

    /// Whether the token is sealed. Only Flotilla's own writers send sealed tokens.
    package var isTokenSealed: Bool {
        guard var token else { return false }
        return token.withUTF8 { unsafe TokenSeal.isSealed($0) }
    }
}
