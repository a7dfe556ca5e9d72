package import CatalogRecords
internal import Identifiers
package import JSON

/// The JSON document in which a person describes an app, for `flotilla apps`. It has the fields of the record
/// `App`. Unknown fields and secrets are problems.
package enum AppDocument {
    /// Limit on a document: 1 MiB.
    package static let bytesMax = 1 << 20

    /// Returns the app that the document describes. Throws all problems at once.
    ///
    /// - Parameter id: The app's id. The document may repeat it.
    package static func parse(_ bytes: [UInt8], id: String) throws(JSONError) -> App {
        try JSONReader(limits: JSONLimits(bytesMax: bytesMax)).read(bytes) { value in
            let object = value.object()
            if let writtenID = object["id"].optional, writtenID.string() != id {
                writtenID.report("must be \(id), or be left out")
            }
            if let problem = AppIDRules.problemOfNewApp(id) {
                value.report("is for an app whose id \(problem)")
            }
            _ = object["v"].optional?.int(in: 1...App.schemaVersion)
            reportCredentials(in: object)
            let userProof = object["userProof"]
            if !userProof.isMissing { userProof.report(userProofProblem) }
            let app = App(id: id, from: object)
            // `App` ignores unknown fields of types, because a newer program may have written them in a record.
            if var types = object["activityTypes"].optional?.array(countMax: ActivityType.countPerAppMax) {
                while let type = types.next() {
                    if type.kind == .object { type.object().reportUnknownFields() }
                }
            }
            object.reportUnknownFields()
            return app
        }
    }

    /// Rejects credentials that people know from other push servers.
    private static func reportCredentials(in object: JSONObject) {
        for value in [object["certificate"], object["certificateFile"], object["p12"]] where !value.isMissing
        {
            value.report(certificateProblem)
        }
        for value in [object["p8"], object["privateKey"], object["keyFile"]] where !value.isMissing {
            value.report(privateKeyProblem)
        }
    }

    package static let userProofProblem =
        "must not be here: it holds secrets, which `flotilla apps user-proof` makes and keeps"
    package static let certificateProblem =
        "cannot be used: a certificate expires once a year, serves one app and one environment, and cannot "
        + "start a Live Activity on a channel; make a key (.p8) at developer.apple.com, once for the whole "
        + "team, and give its id as keyId"
    package static let privateKeyProblem =
        "must not be here: the private key (.p8) is a file on the senders and never enters the catalog; "
        + "give its id as keyId"
}
