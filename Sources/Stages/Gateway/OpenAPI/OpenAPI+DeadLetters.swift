// The calls about dead letters.

extension OpenAPI {
    private static func queryParameter(_ name: String, schema: String, means description: String) -> String {
        ##"""
        {
          "name":"\##(name)",
          "in":"query",
          "required":false,
          "description":"\##(description)",
          "schema":\##(schema)
        }
        """##
    }

    private static let filterParameters = [
        queryParameter(
            "stage", schema: #"{"type":"string"}"#, means: "The stage that wrote the dead letter."),
        queryParameter("reason", schema: #"{"type":"string"}"#, means: "The code of the reason."),
        queryParameter(
            "since", schema: #"{"type":"integer"}"#,
            means: "The earliest time of writing, in milliseconds since 1970."),
        queryParameter(
            "until", schema: #"{"type":"integer"}"#,
            means: "The time before which the dead letter was written, in milliseconds since 1970."),
        queryParameter(
            "settled", schema: #"{"const":"true"}"#, means: "Also lists redriven and discarded dead letters."),
    ].joined(separator: ",")
    private static let limit = queryParameter(
        "limit", schema: #"{"type":"integer","minimum":1,"maximum":1000}"#,
        means: "The most dead letters in the answer. The default is 100.")
    private static let cursor = queryParameter(
        "cursor", schema: #"{"type":"string"}"#, means: "The field next of an earlier answer.")
    private static let positionParameters = ["partition", "offset"].map {
        #"{"name":"\#($0)","in":"path","required":true,"schema":{"type":"integer","minimum":0}}"#
    }.joined(separator: ",")

    static let deadLetterPaths = #"""
        "/v1/dead-letters":{"get":{
          "operationId":"deadLetters",
          "summary":"The app's records that stages could not use, summed by reason.",
          "description":"Role read.",
          "security":[{"bearer":[]}],
          "parameters":[\#(filterParameters)],
          "responses":{\#(response(200, schema: "letterSums", meaning: "Sums.")),\#(refusals())}
        }},
        "/v1/dead-letters/each":{"get":{
          "operationId":"eachDeadLetter",
          "summary":"Lists dead letters one by one.",
          "description":"Role read.",
          "security":[{"bearer":[]}],
          "parameters":[\#(filterParameters),\#(limit),\#(cursor)],
          "responses":{\#(response(200, schema: "letters", meaning: "The newest first.")),\#(refusals())}
        }},
        "/v1/dead-letters/{partition}/{offset}":{"get":{
          "operationId":"deadLetter",
          "summary":"One dead letter with its content, without tokens.",
          "description":"Role read.",
          "security":[{"bearer":[]}],
          "parameters":[\#(positionParameters)],
          "responses":{
            \#(response(200, schema: "letter", meaning: "The dead letter.")),
            \#(refusals(missing: true))
          }
        }},
        "/v1/dead-letters/redrive":{"post":{
          "operationId":"redriveDeadLetters",
          "summary":"Redrives dead letters, except expired ones and those that a newer version replaces.",
          "description":"Role admin. A call that takes longer than the answer limit continues. Then list the open dead letters.",
          "security":[{"bearer":[]}],
          \#(body(schema: "letterOrder")),
          "responses":{
            \#(response(200, schema: "redriven", meaning: "The redriven counts, or the expected counts of a dry run.")),
            \#(refusals(body: true))
          }
        }},
        "/v1/dead-letters/discard":{"post":{
          "operationId":"discardDeadLetters",
          "summary":"Marks dead letters as settled without sending them.",
          "description":"Role admin.",
          "security":[{"bearer":[]}],
          \#(body(schema: "letterOrder")),
          "responses":{
            \#(response(200, schema: "discarded", meaning: "The number of marked dead letters, or of those that a dry run would mark.")),
            \#(refusals(body: true))
          }
        }}
        """#

    static let deadLetterSchemas = #"""
        "letterOrder":{
          "type":"object",
          "additionalProperties":false,
          "description":"Selects the dead letters that match all given conditions. At least one condition is required.",
          "properties":{
            "letters":{
              "type":"array",
              "maxItems":1000,
              "items":{"type":"string","pattern":"^[0-9]+/[0-9]+$"}
            },
            "stage":{"type":"string"},
            "reason":{"type":"string"},
            "since":{"type":"integer"},
            "until":{"type":"integer"},
            "every":{
              "type":"boolean",
              "description":"Selects all dead letters, if no other condition is given."
            },
            "dryRun":{"type":"boolean","description":"Whether the call only counts."}
          }
        },
        "letterSums":{
          "type":"object",
          "required":["sums","others"],
          "additionalProperties":false,
          "properties":{
            "sums":{"type":"array","items":{"type":"object"}},
            "others":{"type":"integer","description":"Dead letters of further kinds."}
          }
        },
        "letters":{
          "type":"object",
          "required":["items","more"],
          "additionalProperties":false,
          "properties":{
             "items":{"type":"array","items":{"$ref":"#/components/schemas/letter"}},
             "more":{"type":"integer"},
             "next":{"type":"string","description":"The cursor of the next page; omitted on the last page."}
          }
        },
        "letter":{
          "type":"object",
          "required":["letter","at","stage","reason","message","jobs","state"],
          "properties":{
            "letter":{"type":"string"},
            "at":{"type":"integer"},
            "stage":{"type":"string"},
            "app":{"type":"string"},
            "reason":{"type":"string"},
            "message":{"type":"string"},
            "jobs":{"type":"integer"},
            "state":{"enum":["open","redriven","discarded","in_doubt"]},
            "topic":{"type":"string"},
            "partition":{"type":"integer"},
            "offset":{"type":"integer"},
            "writtenAt":{"type":"integer"},
            "bytes":{"type":"integer"},
            "sentAgainFrom":{"type":"array","items":{"type":"string"}},
            "send":{"type":"string"},
            "groupId":{"type":"string"},
            "event":{"type":"string"},
            "version":{"type":"integer"},
            "deadline":{"type":"integer"},
            "pushes":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["installationId","entry","recipient","token"],
                "properties":{
                  "installationId":{"type":"string"},
                  "entry":{"type":"string"},
                  "recipient":{"type":"string"},
                  "token":{"type":"string","description":"The beginning of the token's digest."}
                }
              }
            }
          }
        },
        "redriven":{
          "type":"object",
          "required":["letters","jobs","settled","stay"],
          "additionalProperties":false,
          "properties":{
            "dryRun":{"const":true},
            "letters":{"type":"integer"},
            "jobs":{"type":"integer"},
            "settled":{
              "type":"integer",
              "description":"Dead letters that an interrupted call had already sent."
            },
            "stay":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["reason","count","message"],
                "properties":{
                  "reason":{"type":"string"},
                  "count":{"type":"integer"},
                  "message":{"type":"string"}
                }
              }
            }
          }
        },
        "discarded":{
          "type":"object",
          "required":["letters"],
          "additionalProperties":false,
          "properties":{
            "dryRun":{"const":true},
            "letters":{"type":"integer"},
            "inDoubt":{"type":"integer","description":"Dead letters whose redrive has begun. They stay."}
          }
        }
        """#
}
