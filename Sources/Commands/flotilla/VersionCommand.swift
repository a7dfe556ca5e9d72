extension Command {
    /// `flotilla version`: prints the version of the binary.
    static let version = Command(
        name: "version", summary: "Prints the version.", usage: "", example: "flotilla version"
    ) { invocation in
        try invocation.requireNoPositionals()
        print("flotilla \(flotillaVersion)")
    }
}

/// The version as in the release notes. Between two releases it is the number of the next one.
let flotillaVersion = "0.1.0"
