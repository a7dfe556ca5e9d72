import CatalogRecords
import Foundation
import Identifiers
import IngestTesting
import InstallationRecords
import Testing
import TokenSealing

@testable import Ingest

private func makeSeal() throws -> TokenSeal {
    let path = NSTemporaryDirectory() + "keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = FileManager.default.createFile(
        atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o600])
    return TokenSeal(keys: try SealingKeys(file: path))
}

private func startToken(_ digits: String = "c0ffee") -> Report {
    var report = Report(
        app: History.app.id, environment: .production, installation: "i", kind: .startToken)
    report.attributesType = "Match"
    report.token = digits
    return report
}

@Test func `a sealed report has the same effect as the same report in the clear`() throws {
    let seal = try makeSeal()
    let (clear, sealed) = (IngestRun(seal: seal), IngestRun(seal: seal))
    var report = startToken()
    clear.merge(report, at: 1_000_000)
    seal.seal(tokenOf: &report)
    #expect(report.isTokenSealed)
    sealed.merge(report, at: 1_000_000)
    #expect(sealed.rejections == [])
    #expect(!sealed.registry.isEmpty)
    #expect(sealed.installations == clear.installations)
    #expect(sealed.registry == clear.registry)
    // The clear report repeats the sealed one.
    sealed.merge(startToken(), at: 1_000_001)
    #expect(sealed.writeCount == 1, "a repetition was written")
}

@Test func `a token sealed with other keys or for another type is rejected`() throws {
    let seal = try makeSeal()
    let run = IngestRun(seal: seal)
    var reportWithOtherKeys = startToken()
    try makeSeal().seal(tokenOf: &reportWithOtherKeys)
    run.merge(reportWithOtherKeys, at: 1_000_000)
    var reportOfOtherType = startToken()
    seal.seal(tokenOf: &reportOfOtherType)
    reportOfOtherType.attributesType = "Order"
    run.merge(reportOfOtherType, at: 1_000_000)
    #expect(run.rejections == [.sealedToken, .sealedToken])
    #expect(run.registry.isEmpty)
}
