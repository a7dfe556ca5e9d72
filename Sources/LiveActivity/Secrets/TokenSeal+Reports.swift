/// A report's token on its way through `reports` and `dead-letters`: sealed by whoever writes the report,
/// opened by whoever merges it.
///
/// It is sealed as the registry's entry will have it, so that the merging stage can take the sealed text
/// over as it is.
extension TokenSeal {
    /// Seals the report's token, where it has one that can be a token and there are keys.
    package func seal(tokenOf report: inout Report) {
        guard isSealing, let digits = report.token, let token = PushToken(hex: digits) else { return }
        report.token = seal(token, app: report.app, entry: report.tokenEntry.text)
    }

    /// The report's token, sealed or in the clear: from a service that has no keys, or from before there
    /// were keys. Nil when the report has none.
    package func open(tokenOf report: Report) throws(Failure) -> PushToken? {
        guard let stored = report.token else { return nil }
        return try open(stored, app: report.app, entry: report.tokenEntry.text)
    }

    private static let digitsMax = 6
    /// Nonce, the longest token and AES-GCM's tag, in base64url.
    private static let sealedBytesMax = (12 + PushToken.bytesMax + 16) * 4 / 3 + 4

    /// Whether a text looks like what `seal` makes: no token in hexadecimal does.
    package static func isSealed(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe text.first == UInt8(ascii: "s") else { return false }
        guard let dot = unsafe text.prefix(digitsMax + 2).firstIndex(of: UInt8(ascii: ".")), dot > 1,
            unsafe text[1..<dot].allSatisfy({ (0x30...0x39).contains($0) })
        else { return false }
        let sealed = unsafe text[(dot + 1)...]
        return unsafe (1...sealedBytesMax).contains(sealed.count) && sealed.allSatisfy(isBase64URL)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

extension Report {
    /// The entry of the registry that its token is for.
    package var tokenEntry: RegistryKey.Entry {
        if kind != .startToken, let activity { return .update(activity: activity) }
        return .start(type: attributesType)
    }

    /// Whether its token is in the sealed form, which only Flotilla's own writers send.
    package var isTokenSealed: Bool {
        guard var token else { return false }
        return token.withUTF8 { unsafe TokenSeal.isSealed($0) }
    }
}
