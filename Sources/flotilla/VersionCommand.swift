extension Command {
    static let version = Command(
        name: "version", summary: "Prints the version.", usage: "", example: "flotilla version"
    ) { invocation in
        try invocation.refuseWords()
        print("flotilla \(flotillaVersion)")
    }
}

/// As in the release notes; a checkout between two releases carries the coming one's number.
let flotillaVersion = "0.1.0"
