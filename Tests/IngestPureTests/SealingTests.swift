import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing

@testable import Ingest
@testable import TokenSealing

/// Tests of a stage with sealing keys, which encrypt the tokens in records. The result of merging must be the same as
/// without keys, also while keys rotate.
@Suite struct SealingTests {
    private static let digits = String(repeating: "5e", count: 32)
    private static let token = String(repeating: "ab", count: 40)

    private func seal(keys count: Int) throws -> TokenSeal {
        let keys = (1...count).map { "key \($0) " + String(repeating: "\($0)f", count: 32) }
        let text = (["hash \(Self.digits)"] + keys).joined(separator: "\n")
        return TokenSeal(keys: try SealingKeys(lines: Array(text.utf8)[...]))
    }

    private func startToken(_ text: String = token) -> Report {
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .startToken)
        report.attributesType = "Match"
        report.token = text
        return report
    }

    private func storedToken(_ run: IngestRun) -> String? {
        run.installation?.startTokens.first?.token?.sealed
    }

    @Test func `a sealed token and a clear token give the same result`() throws {
        let seal = try seal(keys: 1)
        var sealed = startToken()
        seal.seal(tokenOf: &sealed)
        #expect(sealed.isTokenSealed)
        let (first, second) = (IngestRun(seal: seal), IngestRun(seal: seal))
        first.merge(startToken(), at: History.start)
        second.merge(sealed, at: History.start)
        #expect(first.installations == second.installations && first.registry == second.registry)
        #expect(second.registry.count == 1)
        second.merge(startToken(), at: History.start + 1)
        #expect(second.writeCount == 1, "a repetition was written")
    }

    @Test func `only a due repetition is sealed with the newest key`() throws {
        let old = IngestRun(seal: try seal(keys: 1))
        old.merge(startToken(), at: History.start)
        let run = IngestRun(seal: try seal(keys: 2), installations: old.installations)
        run.merge(startToken(), at: History.start + 1)
        #expect(storedToken(run)?.hasPrefix("s1.") == true)
        run.merge(startToken(), at: History.start + 86_400_000)
        #expect(storedToken(run)?.hasPrefix("s2.") == true)
        guard case .token(let row)? = run.registry.values.first else {
            Issue.record("there is no row")
            return
        }
        #expect(row.token == storedToken(run))
        let stored = try #require(row.token)
        let openedToken = try seal(keys: 2).open(stored, app: "shop", entry: "start:Match").hex
        #expect(openedToken == Array(Self.token.utf8))
    }

    @Test func `a clear token is sealed when it is due`() throws {
        let old = IngestRun()
        old.merge(startToken(), at: History.start)
        // Hashes are keyed too. With these keys the hash differs, so the token counts as new.
        let run = IngestRun(seal: try seal(keys: 1), installations: old.installations)
        run.merge(startToken(), at: History.start + 1)
        #expect(storedToken(run)?.hasPrefix("s1.") == true)
    }

    @Test func `a token that these keys do not open is rejected with a reason`() throws {
        var report = startToken()
        try seal(keys: 2).seal(tokenOf: &report)
        let run = IngestRun(seal: try seal(keys: 1))
        guard case .rejected(let rejection) = run.merge(report, at: History.start) else {
            Issue.record("it was accepted")
            return
        }
        #expect(rejection.code == .sealedToken)
        #expect(rejection.description.contains("key 2"))
        try seal(keys: 1).seal(tokenOf: &report)
        report.attributesType = "Another"
        run.merge(report, at: History.start)
        #expect(run.rejections.last == .sealedToken, "it was sealed for another row")
    }

    // MARK: Records that are passed on unchanged

    /// Returns a dead letter's value with sealed tokens, or nil if it has no token to seal.
    private func sealed(_ text: String) throws -> String? {
        let deadLetterSeal = DeadLetterSeal(tokenSeal: try seal(keys: 1), reader: JSONReader())
        return deadLetterSeal.sealedCopy(of: Array(text.utf8).span).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `only the token of a report is sealed, and the record is still a report`() throws {
        let fields =
            #""v":1,"app":"shop","environment":"production","installationId":"i","kind":"startToken""#
        let text = #"{"unheardOf" : 1,"token": "\#(Self.token)",\#(fields)}"#
        let sealedText = try #require(try sealed(text))
        let report = try Report.decode(Array(sealedText.utf8), with: JSONReader())
        #expect(report.isTokenSealed)
        #expect(sealedText == text.replacing(Self.token, with: report.token ?? ""))
        #expect(try seal(keys: 1).open(tokenOf: report)?.hex == Array(Self.token.utf8))
        #expect(try sealed(sealedText) == nil, "a sealed token was sealed again")
        // A token may be spelled with escapes.
        let escapedText = text.replacing("\"ab", with: #""\u0061b"#)
        #expect(escapedText != text)
        #expect(try sealed(escapedText)?.contains("b" + Self.token.dropFirst(2)) == false)
    }

    @Test func `in an unreadable record everything that looks like a token is sealed`() throws {
        let hash = String(repeating: "0f", count: 16)
        let text = #"{"token":"\#(Self.token)","hash":"\#(hash)","odd":"\#(Self.token)c"#
        let sealedText = try #require(try sealed(text))
        #expect(sealedText.hasPrefix(#"{"token":"s1."#))
        #expect(sealedText.contains(hash))
        #expect(!sealedText.contains(Self.token))
        let onlyDigits = String(repeating: "e", count: 5000)
        #expect(try sealed(onlyDigits)?.hasPrefix("s1.") == true)
        #expect(try sealed("not JSON") == nil)
        #expect(try sealed("") == nil)
    }

    @Test func `without keys every record stays as it is`() {
        let deadLetterSeal = DeadLetterSeal(tokenSeal: TokenSeal(keys: nil), reader: JSONReader())
        #expect(deadLetterSeal.sealedCopy(of: startToken().encoded().span) == nil)
    }
}
