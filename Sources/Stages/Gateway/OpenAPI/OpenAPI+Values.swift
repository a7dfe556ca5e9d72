// The schemas that several subjects use: names, dates, texts and problems.

extension OpenAPI {
    static let values = #"""
        "name":{
          "type":"string",
          "minLength":1,
          "maxLength":200,
          "pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"
        },
        "names":{
          "type":"array",
          "minItems":1,
          "maxItems":10000,
          "uniqueItems":true,
          "items":{"$ref":"#/components/schemas/name"}
        },
        "isoDate":{
          "type":"string",
          "format":"date-time",
          "description":"ISO 8601 in UTC, such as 2026-11-20T20:00:00Z; a fraction of a second is ignored."
        },
        "date":{
          "description":"ISO 8601 in UTC, seconds since 1970, or seconds from now by the server's clock.",
          "oneOf":[
            {"$ref":"#/components/schemas/isoDate"},
            {"type":"integer","minimum":0,"maximum":100000000000},
            {
              "type":"object",
              "required":["offset"],
              "additionalProperties":false,
              "properties":{"offset":{"type":"integer","minimum":0,"maximum":31622400}}
            }
          ]
        },
        "state":{
          "type":"object",
          "description":"The app's own content: a JSON object of at most 16 levels, checked against the activity type's schema and sent unchanged."
        },
        "text":{"oneOf":[
          {"type":"string"},
          {
            "type":"object",
            "required":["locKey"],
            "additionalProperties":false,
            "properties":{
              "locKey":{"type":"string"},
              "locArgs":{"$ref":"#/components/schemas/locArgs"}
            }
          },
          {
            "type":"object",
            "description":"The spelling of Apple's payloads.",
            "required":["loc-key"],
            "additionalProperties":false,
            "properties":{
              "loc-key":{"type":"string"},
              "loc-args":{"$ref":"#/components/schemas/locArgs"}
            }
          }
        ]},
        "locArgs":{"type":"array","maxItems":16,"items":{"type":"string"}},
        "problem":{
          "type":"object",
          "required":["code","message"],
          "properties":{
            "code":{"type":"string"},
            "message":{"type":"string"},
            "field":{"type":"string","description":"Omitted if the problem concerns the whole request."}
          }
        },
        "refusal":{
          "type":"object",
          "required":["error","problems"],
          "properties":{
            "error":{
              "type":"object",
              "required":["code","message"],
              "properties":{
                "code":{"type":"string","description":"A stable code for programs."},
                "message":{"type":"string","description":"The problem and the remedy."},
                "field":{"type":"string","description":"The path in the body, or the name of a parameter or header."}
              }
            },
            "problems":{
              "type":"array",
              "description":"All problems. The first one is also in error.",
              "items":{"$ref":"#/components/schemas/problem"}
            },
            "sendId":{"type":"string","description":"On 409: the first send with the Idempotency-Key, or the send that was refused with newer_state."},
            "notificationKey":{"type":"string","description":"On 409: the first definition with the Idempotency-Key."}
          }
        }
        """#
}
